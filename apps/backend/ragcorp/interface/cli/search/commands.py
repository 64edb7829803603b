"""`ragcorp search` and `ragcorp ask`."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Annotated
from uuid import uuid4

from rich.console import Console
from typer import Option

from ragcorp.domain.answers import Answer, AnswerDelta, Citation, final_answer
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.retrieval import SourceReport
from ragcorp.domain.search.requests import (
    FusionMethod,
    QuerySyntax,
    SearchHit,
    SearchMode,
    SearchRequest,
    SearchResponse,
)
from ragcorp.interface.cli.console.arguments import filter_pairs, parse_weights
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.options import Cursor, Filter, Profile, argument, option
from ragcorp.interface.cli.console.output import plain, print_line
from ragcorp.interface.cli.console.services import Session
from ragcorp.interface.cli.search.hydration_output import print_hydration
from ragcorp.interface.request_values import parse_filters
from ragcorp.interface.shapes.answers import answer_document
from ragcorp.interface.shapes.result_text import place_in
from ragcorp.interface.shapes.search import search_results
from ragcorp.interface.shapes.unread import unread_in_words

SNIPPET_CHARACTERS = 300

Query = Annotated[str, argument(help="Words, a question, a code or a quotation.")]


@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """The options of every query."""

    mode: Annotated[SearchMode, Option("--mode", help="auto: hybrid if ENABLE_HYBRID_SEARCH is on, else dense.")] = (
        SearchMode.AUTO
    )
    method: Annotated[FusionMethod | None, option("--method", help="Fusion: rrf or linear [FUSION_METHOD].")] = None
    syntax: Annotated[
        QuerySyntax, Option("--syntax", help="plain: all is text; websearch: quotes, or and - are operators.")
    ] = QuerySyntax.PLAIN
    filters: Filter = None
    profile: Profile = None
    episode: Annotated[
        str | None,
        option(
            "--episode",
            metavar="ID",
            help="Episode of which this is the next turn: shows the entities that QUERY names, and what it showed "
            "before.",
        ),
    ] = None

    def request(self, query: str, *, limit: int) -> SearchRequest:
        """Raises InvalidInputError."""
        return SearchRequest(
            query=query,
            limit=limit,
            mode=self.mode,
            method=self.method,
            syntax=self.syntax,
            filters=parse_filters(filter_pairs(self.filters)),
            profile=self.profile,
            episode_id=self.episode,
        )


@dataclass(frozen=True, kw_only=True)
class SearchOptions(QueryOptions):
    """The options of a search."""

    keywords: Annotated[
        str | None,
        option(
            "--keywords",
            metavar="TEXT",
            help="What the profiles files (alone they mean it) and grep look for literally; else the telling words of "
            "QUERY.",
        ),
    ] = None
    vector_score_threshold: Annotated[
        float | None,
        option(
            "--vector-score-threshold",
            metavar="DISTANCE",
            help="Cosine distance from which a vector hit is dropped [VECTOR_SCORE_THRESHOLD, for profile files].",
        ),
    ] = None
    include_memory: Annotated[bool, Option("--include-memory", help="Ask the memories too.")] = False
    expand_neighbors: Annotated[
        int, Option("--expand-neighbors", metavar="N", help="Show N chunks before and behind each passage.")
    ] = 0
    no_rerank: Annotated[bool, Option("--no-rerank", help="Leave a configured reranker out.")] = False
    require_all: Annotated[bool, Option("--require-all", help="Take no answer where a source did not do its part.")] = (
        False
    )
    facets: Annotated[bool, Option("--facets", help="Count what was found.")] = False
    explain: Annotated[bool, Option("--explain", help="Say how the ranking came about.")] = False
    rrf_k: Annotated[int | None, Option("--rrf-k", help="Rank constant k of RRF [RRF_K].")] = None
    weights: Annotated[
        str | None, Option("--weights", metavar="LIST=NUMBER,...", help="Weights of fusion, as dense=1,full_text=2.")
    ] = None
    window: Annotated[int | None, Option("--window", help="Hits that each source gives to fusion.")] = None
    cursor: Cursor = None

    def request(self, query: str, *, limit: int) -> SearchRequest:
        """Raises InvalidInputError."""
        return replace(
            super().request(query, limit=limit),
            cursor=self.cursor,
            rank_constant=self.rrf_k,
            weights=parse_weights(self.weights),
            rank_window_size=self.window,
            explain=self.explain,
            include_memory=self.include_memory,
            expand_neighbors=self.expand_neighbors,
            rerank=False if self.no_rerank else None,
            require_all=self.require_all,
            facets=self.facets,
            exact_keywords=self.keywords,
            vector_score_threshold=self.vector_score_threshold,
        )


async def search(
    call: Call,
    query: Query,
    options: SearchOptions,
    limit: Annotated[int, Option("--limit", "-n", help="Results of one page.")] = 10,
) -> None:
    """Find the passages that fit best."""
    request = options.request(query, limit=limit)
    async with call.open() as session:
        response = await session.use_cases.search.search(request, principal=session.principal)
    document = search_results(response, request_id=uuid4().hex)
    call.output.result(document, lambda console: _print_results(console, response))


async def ask(
    call: Call,
    query: Query,
    options: QueryOptions,
    limit: Annotated[int, Option("--limit", "-n", help="Passages that the answer may rest on.")] = 10,
    conversation: Annotated[
        str | None,
        option(
            "--conversation", metavar="ID", help="Session of history that the question goes on from, and is stored in."
        ),
    ] = None,
    stream: Annotated[
        bool, Option("--stream", help="Print the answer as it is written; no effect with --json.")
    ] = False,
) -> None:
    """Answer a question from the documents, with citations, or say that they do not tell."""
    request = replace(options.request(query, limit=limit), conversation_id=conversation)
    async with call.open() as session:
        answering = session.use_cases.answer.stream(request, principal=session.principal)
        if stream and not call.output.json:
            async with aclosing(answering) as events:
                written = False
                async for event in events:
                    if isinstance(event, AnswerDelta):
                        call.output.console.print(plain(event.text), end="")
                        written = True
                    elif isinstance(event, Answer):
                        print_answer(call.output.console, event, printed=written)
        else:
            answer = await final_answer(answering)
            document = answer_document(answer, request_id=uuid4().hex)
            call.output.result(document, lambda console: print_answer(console, answer))
        if conversation is not None and session.makes_vectors:
            await _embed_turns(session)


async def _embed_turns(session: Session) -> None:
    """Embed the question and the answer, at most two batches. A failure is left to the next run: the answer is out."""
    with suppress(RagcorpError):
        for _ in range(2):
            await session.use_cases.embed_pending.embed()


def print_answer(console: Console, answer: Answer, *, printed: bool = False) -> None:
    """Print an answer and its citations; ``printed`` if its text was streamed before."""
    console.print("" if printed else plain(answer.text))
    for citation in answer.citations:
        quote = f"  «{' '.join(citation.quote.split())}»"
        print_line(console, f"  [{citation.n}] ", (_citation_place(citation), "cyan"), (quote, "dim"), style="bold")
    for document in answer.incomplete:
        unread = unread_in_words(document.unread)
        print_line(console, f"  may be incomplete: {document.external_id}: {unread}", style="yellow")
    if answer.rewritten_query is not None:
        print_line(console, f"  asked: {answer.rewritten_query}", style="dim")
    if answer.hydration is not None:
        print_hydration(console, answer.hydration)
    print_degraded(console, answer.degraded)


def print_degraded(console: Console, reports: Sequence[SourceReport]) -> None:
    for report in reports:
        print_line(console, f"  degraded: {report.source} ({report.reason})", style="yellow")


def _citation_place(citation: Citation) -> str:
    if citation.path is None:
        return citation.title or citation.collection
    return place_in(
        citation.path,
        citation.line_start,
        citation.line_end,
        page=citation.page,
        recognition_confidence=citation.recognition_confidence,
    )


def _chunk_place(chunk: Chunk) -> str:
    path = chunk.source_path
    if path is None:
        return chunk.speaker or chunk.external_id
    return place_in(
        path,
        chunk.line_start,
        chunk.line_end,
        page=chunk.page_start,
        page_end=chunk.page_end,
        recognition_confidence=chunk.recognition_confidence,
    )


def _print_results(console: Console, response: SearchResponse) -> None:
    if not response.hits:
        console.print("Nothing found.")
    for hit in response.hits:
        _print_hit(console, hit, explain=response.explanation is not None)
    if response.hydration is not None:
        print_hydration(console, response.hydration)
    print_degraded(console, response.degraded)
    if response.explanation is not None:
        _print_explanation(console, response)
    for facet, counts in (response.facets or {}).items():
        print_line(console, f"{facet}: {', '.join(f'{value} {count}' for value, count in counts.items())}")
    if response.next_cursor:
        print_line(console, f"more: --cursor {response.next_cursor}", style="dim")


def _print_hit(console: Console, hit: SearchHit, *, explain: bool) -> None:
    is_plain_passage = hit.chunk.of_document and len(hit.collections) <= 1
    print_line(
        console,
        f"{hit.rank:>3}. ",
        (_chunk_place(hit.chunk), "cyan"),
        (f"  {hit.chunk.shown_title}", "bold"),
        (f"  {hit.score_type} {hit.score:.4f}", "dim"),
        ("" if is_plain_passage else f"  in {', '.join(hit.collections)}", "dim"),
        style="bold",
    )
    words = " ".join(hit.chunk.content.split())
    print_line(console, f"     {words[:SNIPPET_CHARACTERS]}{'…' if len(words) > SNIPPET_CHARACTERS else ''}")
    if explain:
        for source in hit.sources:
            print_line(
                console,
                f"     {source.source}: rank {source.rank}, {source.score_type} {source.score:.4f}, "
                f"weight {source.weight:g}, contributes {source.value:.6f}",
                style="dim",
            )
            for match in hit.evidence[source.source].matches if source.source in hit.evidence else ():
                print_line(
                    console,
                    f"         {match.lexeme}: tf {match.tf}{_idf(match.idf)}, gives {match.contribution:.6f}",
                    style="dim",
                )
        for step, note in hit.steps.items():
            values = ", ".join(f"{name} {_formatted(value)}" for name, value in note.items())
            print_line(console, f"     {step}: {values}", style="dim")


def _idf(idf: float | None) -> str:
    return "" if idf is None else f", idf {idf:.3f}"


def _formatted(value: object) -> str:
    match value:
        case float():
            return f"{value:.6g}"
        case Mapping():
            return " ".join(_formatted(part) for part in value.values())
        case list() | tuple():
            return "; ".join(_formatted(part) for part in value) or "none"
    return "none" if value is None else str(value)


def _print_explanation(console: Console, response: SearchResponse) -> None:
    print_line(console, f"mode used: {response.mode_used.value}")
    for name, value in (response.explanation or {}).items():
        if name not in ("sources", "steps"):
            print_line(console, f"{name}: {value}")
    for step in response.steps:
        skipped = f", not run: {step.skipped}" if step.skipped else ""
        print_line(console, f"step {step.step}: {step.before} -> {step.after}{skipped}  ({step.formula})")
    for report in response.reports:
        print_line(
            console, f"source {report.source}: {report.outcome.value}, {report.hits} hits, {report.elapsed_ms:.1f} ms"
        )
