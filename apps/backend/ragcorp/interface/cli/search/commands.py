"""`ragcorp search` and `ragcorp ask`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import uuid4

import typer
from rich.console import Console
from rich.text import Text

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
from ragcorp.interface.cli.console.arguments import parse_filter_pairs, parse_weights
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.output import plain
from ragcorp.interface.cli.console.services import Session
from ragcorp.interface.cli.search.hydration_output import print_hydration
from ragcorp.interface.shapes.answers import answer_document
from ragcorp.interface.shapes.search import search_results

SNIPPET_CHARACTERS = 300

Query = Annotated[str, typer.Argument(help="Words, a question, a code or a quotation.", show_default=False)]
Filter = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="KEY=VALUE",
        help="Field or metadata key; may be given again. The value may be JSON: a list means any of them, an object "
        'has operators: year={"$gte": 2025}.',
        show_default=False,
    ),
]


@dataclass(frozen=True, kw_only=True)
class RetrievalOptions:
    """The options that search and ask share."""

    mode: Annotated[
        SearchMode, typer.Option("--mode", help="auto: hybrid if ENABLE_HYBRID_SEARCH is on, else dense.")
    ] = SearchMode.AUTO
    method: Annotated[
        FusionMethod | None, typer.Option("--method", help="Fusion: rrf or linear [FUSION_METHOD].", show_default=False)
    ] = None
    syntax: Annotated[
        QuerySyntax, typer.Option("--syntax", help="plain: all is text; websearch: quotes, or and - are operators.")
    ] = QuerySyntax.PLAIN
    filters: Filter = None
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            help="dense, sparse, hybrid, linear, collections, memory, everything, files, grep or code: in place of "
            "--mode and --method.",
            show_default=False,
        ),
    ] = None
    episode: Annotated[
        str | None,
        typer.Option(
            "--episode",
            metavar="ID",
            help="Episode of which this is the next turn: shows the entities that QUERY names, and what it showed "
            "before.",
            show_default=False,
        ),
    ] = None

    def request(self, query: str, **others: Any) -> SearchRequest:
        """Return the request of the options and ``others``. Raises InvalidInputError."""
        return SearchRequest(
            query=query,
            mode=self.mode,
            method=self.method,
            syntax=self.syntax,
            filters=parse_filter_pairs(self.filters),
            profile=self.profile,
            episode_id=self.episode,
            **others,
        )


@dataclass(frozen=True, kw_only=True)
class ResultOptions:
    """What a search adds to the best passages, or requires of its sources."""

    include_memory: Annotated[bool, typer.Option("--include-memory", help="Ask the memories too.")] = False
    expand_neighbors: Annotated[
        int, typer.Option("--expand-neighbors", metavar="N", help="Show N chunks before and behind each passage.")
    ] = 0
    no_rerank: Annotated[bool, typer.Option("--no-rerank", help="Leave a configured reranker out.")] = False
    require_all: Annotated[
        bool, typer.Option("--require-all", help="Take no answer where a source did not do its part.")
    ] = False
    facets: Annotated[bool, typer.Option("--facets", help="Count what was found.")] = False
    explain: Annotated[bool, typer.Option("--explain", help="Say how the ranking came about.")] = False


@dataclass(frozen=True, kw_only=True)
class FusionOptions:
    """How the lists become one ranking."""

    rrf_k: Annotated[int | None, typer.Option("--rrf-k", help="Rank constant k of RRF [RRF_K].")] = None
    weights: Annotated[
        str | None,
        typer.Option("--weights", metavar="LIST=NUMBER,...", help="Weights of fusion, as dense=1,full_text=2."),
    ] = None
    window: Annotated[int | None, typer.Option("--window", help="Hits that each source gives to fusion.")] = None


async def search(
    call: Call,
    query: Query,
    retrieval: RetrievalOptions,
    results: ResultOptions,
    fusion: FusionOptions,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Results of one page.")] = 10,
    keywords: Annotated[
        str | None,
        typer.Option(
            "--keywords",
            metavar="TEXT",
            help="What the profiles files (alone they mean it) and grep look for literally; else the telling words of "
            "QUERY.",
            show_default=False,
        ),
    ] = None,
    vector_score_threshold: Annotated[
        float | None,
        typer.Option(
            "--vector-score-threshold",
            metavar="DISTANCE",
            help="Cosine distance from which a vector hit is dropped [VECTOR_SCORE_THRESHOLD, for profile files].",
            show_default=False,
        ),
    ] = None,
    cursor: Annotated[str | None, typer.Option("--cursor", help="The next page: as the last one named it.")] = None,
) -> None:
    """Find the passages that fit best."""
    request = retrieval.request(
        query,
        limit=limit,
        cursor=cursor,
        rank_constant=fusion.rrf_k,
        weights=parse_weights(fusion.weights),
        rank_window_size=fusion.window,
        explain=results.explain,
        include_memory=results.include_memory,
        expand_neighbors=results.expand_neighbors,
        rerank=False if results.no_rerank else None,
        require_all=results.require_all,
        facets=results.facets,
        exact_keywords=keywords,
        vector_score_threshold=vector_score_threshold,
    )
    async with call.services.open(call.target) as session:
        response = await session.search.search(request, principal=session.principal)
    call.output.result(
        search_results(response, request_id=uuid4().hex), lambda console: _print_results(console, response)
    )


async def ask(
    call: Call,
    query: Query,
    retrieval: RetrievalOptions,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Passages that the answer may rest on.")] = 10,
    conversation: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            metavar="ID",
            help="Session of history that the question goes on from, and is stored in.",
            show_default=False,
        ),
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Print the answer as it is written; no effect with --json.")
    ] = False,
) -> None:
    """Answer a question from the documents, with citations, or say that they do not tell."""
    request = retrieval.request(query, limit=limit, conversation_id=conversation)
    async with call.services.open(call.target) as session:
        if stream and not call.output.json:
            async with aclosing(session.answer.stream(request, principal=session.principal)) as events:
                written = False
                async for event in events:
                    if isinstance(event, AnswerDelta):
                        call.output.console.print(plain(event.text), end="")
                        written = True
                    elif isinstance(event, Answer):
                        print_answer(call.output.console, event, text_is_out=written)
        else:
            answer = await final_answer(session.answer.stream(request, principal=session.principal))
            call.output.result(
                answer_document(answer, request_id=uuid4().hex), lambda console: print_answer(console, answer)
            )
        if conversation is not None and session.makes_vectors:
            await _make_vectors_of_turns(session)


async def _make_vectors_of_turns(session: Session) -> None:
    """Embed the question and the answer. The answer is printed already: vectors that fail now are made later."""
    with suppress(RagcorpError):
        for _ in range(2):
            await session.embed_pending.embed()


def print_answer(console: Console, answer: Answer, *, text_is_out: bool = False) -> None:
    """Print an answer and its citations; ``text_is_out``: the text was streamed already."""
    console.print("" if text_is_out else plain(answer.text))
    for citation in answer.citations:
        line = plain(f"  [{citation.n}] ", style="bold")
        line.append_text(plain(_citation_place(citation), style="cyan"))
        line.append_text(plain(f"  «{' '.join(citation.quote.split())}»", style="dim"))
        console.print(line)
    if answer.rewritten_query is not None:
        console.print(plain(f"  asked: {answer.rewritten_query}", style="dim"))
    if answer.hydration is not None:
        print_hydration(console, answer.hydration)
    print_degraded(console, answer.degraded)


def print_degraded(console: Console, reports: Sequence[SourceReport]) -> None:
    for report in reports:
        console.print(plain(f"  degraded: {report.source} ({report.reason})", style="yellow"))


def place(path: str, *, line_start: int, line_end: int, page: int | None, page_end: int | None = None) -> str:
    """Return a place: ``path page 3``, or ``path:12-15`` by lines."""
    if page is not None:
        return f"{path} page {page}" if page_end in (None, page) else f"{path} pages {page}-{page_end}"
    return f"{path}:{line_start}" if line_start == line_end else f"{path}:{line_start}-{line_end}"


def _citation_place(citation: Citation) -> str:
    if citation.path is None:
        return citation.title or citation.collection
    return place(citation.path, line_start=citation.line_start, line_end=citation.line_end, page=citation.page)


def _chunk_place(chunk: Chunk) -> str:
    path = chunk.source_path
    if path is None:
        return chunk.speaker or chunk.external_id
    return place(
        path, line_start=chunk.line_start, line_end=chunk.line_end, page=chunk.page_start, page_end=chunk.page_end
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
        console.print(plain(f"{facet}: {', '.join(f'{value} {count}' for value, count in counts.items())}"))
    if response.next_cursor:
        console.print(plain(f"more: --cursor {response.next_cursor}", style="dim"))


def _print_hit(console: Console, hit: SearchHit, *, explain: bool) -> None:
    head = Text(f"{hit.rank:>3}. ", style="bold")
    head.append_text(plain(_chunk_place(hit.chunk), style="cyan"))
    head.append_text(plain(f"  {hit.chunk.shown_title}", style="bold"))
    head.append_text(plain(f"  {hit.score_type} {hit.score:.4f}", style="dim"))
    if not hit.chunk.of_document or len(hit.collections) > 1:
        head.append_text(plain(f"  in {', '.join(hit.collections)}", style="dim"))
    console.print(head)
    words = " ".join(hit.chunk.content.split())
    console.print(plain(f"     {words[:SNIPPET_CHARACTERS]}{'…' if len(words) > SNIPPET_CHARACTERS else ''}"))
    if explain:
        for source in hit.sources:
            console.print(
                plain(
                    f"     {source.source}: rank {source.rank}, {source.score_type} {source.score:.4f}, "
                    f"weight {source.weight:g}, contributes {source.value:.6f}",
                    style="dim",
                )
            )
            for match in hit.evidence[source.source].matches if source.source in hit.evidence else ():
                console.print(
                    plain(
                        f"         {match.lexeme}: tf {match.tf}{_idf(match.idf)}, gives {match.contribution:.6f}",
                        style="dim",
                    )
                )
        for step, note in hit.steps.items():
            shown = ", ".join(f"{name} {_shown(value)}" for name, value in note.items())
            console.print(plain(f"     {step}: {shown}", style="dim"))


def _idf(idf: float | None) -> str:
    return "" if idf is None else f", idf {idf:.3f}"


def _shown(value: object) -> str:
    match value:
        case float():
            return f"{value:.6g}"
        case Mapping():
            return " ".join(_shown(part) for part in value.values())
        case list() | tuple():
            return "; ".join(_shown(part) for part in value) or "none"
    return "none" if value is None else str(value)


def _print_explanation(console: Console, response: SearchResponse) -> None:
    console.print(plain(f"mode used: {response.mode_used.value}"))
    for name, value in (response.explanation or {}).items():
        if name not in ("sources", "steps"):
            console.print(plain(f"{name}: {value}"))
    for step in response.steps:
        left = f", not run: {step.skipped}" if step.skipped else ""
        console.print(plain(f"step {step.step}: {step.before} -> {step.after}{left}  ({step.formula})"))
    for report in response.reports:
        console.print(
            plain(f"source {report.source}: {report.outcome.value}, {report.hits} hits, {report.elapsed_ms:.1f} ms")
        )
