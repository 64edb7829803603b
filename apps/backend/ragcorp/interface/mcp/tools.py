"""The tools: their arguments and their calls of use cases. All of them only read."""

from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ragcorp.application.memory.load_context import DEFAULT_QUERY, MAX_CONTEXT_ITEMS
from ragcorp.domain.answers import final_answer
from ragcorp.domain.collections import MAX_ITEM_NAME
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.files import values as files
from ragcorp.domain.keys import Scope
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchRequest
from ragcorp.interface.mcp.arguments import FiltersArgument, Limit, ToolCall, ToolOutcome
from ragcorp.interface.mcp.services import McpLimits, McpServices
from ragcorp.interface.request_values import parse_filters
from ragcorp.interface.shapes.answers import CitedAnswer, cited_answer
from ragcorp.interface.shapes.files import FileContent, UnmarkedResults, unmarked_results
from ragcorp.interface.shapes.memory import Recalled, recalled
from ragcorp.interface.shapes.result_text import (
    answer_text,
    file_length,
    grep_status,
    grep_text,
    search_status,
    search_text,
)
from ragcorp.interface.shapes.search import ToolResults, tool_results
from ragcorp.interface.shapes.values import filled

Question = Annotated[str, Field(description="A question or words, in any language; Spanish is understood best.")]


LINES = "Lines that are named for HTML, CSV, Office and PDF documents are those of their text, not of the file."


class Search(ToolCall):
    output: ClassVar[Any] = ToolResults
    scope: ClassVar[Scope] = Scope.SEARCH

    @abstractmethod
    def request(self) -> SearchRequest: ...

    async def run(self, services: McpServices, principal: Principal) -> ToolOutcome:
        response = await services.use_cases.search.search(self.request(), principal=principal)
        services.count_search(response)
        return ToolOutcome(
            text=search_text(response), document=tool_results(response), status=search_status(self.name, response)
        )


class HybridSearch(Search):
    name = "hybrid_search"
    title = "Search documents and files"
    description = (
        "Search by meaning and by exact words at once, fused by reciprocal rank. Give the question as semantic_query "
        "and, where there are any, identifiers, names, codes or error messages as exact_keywords. Results name path "
        f"and lines; read_file opens them. {LINES}"
    )

    semantic_query: str | None = Field(None, description="What is looked for, as a question or description. Required.")
    query: str | None = Field(None, description="Another name of semantic_query.")
    exact_keywords: str | None = Field(
        None,
        max_length=files.MAX_GREP_QUERY,
        description="Words to look for as they are written, any of them, in any case and accents: at most 24 terms, "
        "the phrase, identifiers and quoted parts before other words. Left out, they are taken from the question.",
    )
    limit: Limit = 10
    include_memory: bool = Field(False, description="Search the memories too.")
    expand_neighbors: bool = Field(False, description="Show the passages before and behind each, too.")
    filters: FiltersArgument = None

    def request(self) -> SearchRequest:
        return SearchRequest(
            query=self._question(),
            exact_keywords=self.exact_keywords,
            limit=self.limit,
            profile="files",
            include_memory=self.include_memory,
            expand_neighbors=int(self.expand_neighbors),
            filters=parse_filters(self.filters),
        )

    async def run(self, services: McpServices, principal: Principal) -> ToolOutcome:
        try:
            return await super().run(services, principal)
        except InvalidInputError as error:
            if error.field != "query":
                raise
            sent = "semantic_query" if self.semantic_query else "query"  # the error names the argument that was sent
            message = error.message.replace("query", sent, 1)
            raise InvalidInputError(message, field=sent, limit=error.limit, remedy=error.remedy) from None

    def _question(self) -> str:
        texts = {text for text in (self.semantic_query, self.query) if text}
        if len(texts) == 1:
            return texts.pop()
        raise InvalidInputError(
            "semantic_query and query differ." if texts else "semantic_query is missing.",
            field="semantic_query",
            remedy="Give the question once, as semantic_query.",
        )


class VectorSearch(Search):
    name = "vector_search"
    title = "Search by meaning"
    description = "Search the passages of documents by meaning alone; those too far from the query are left out."

    query: Question
    limit: Limit = 10
    filters: FiltersArgument = None
    vector_score_threshold: float | None = Field(
        None,
        gt=0,
        le=2,
        description="Cosine distance from which passages are left out; null is the service's own, fit for its model.",
    )

    def request(self) -> SearchRequest:
        return SearchRequest(
            query=self.query,
            limit=self.limit,
            profile="vectors",
            filters=parse_filters(self.filters),
            vector_score_threshold=self.vector_score_threshold,
        )


class MemorySearch(Search):
    name = "memory_search"
    title = "Search the memory"
    description = "Search what is remembered: memories, turns of conversations and facts of the graph."

    query: Question
    limit: Limit = 10
    filters: FiltersArgument = None

    def request(self) -> SearchRequest:
        return SearchRequest(query=self.query, limit=self.limit, profile="memory", filters=parse_filters(self.filters))


class GrepSearch(ToolCall):
    name = "grep_search"
    title = "Search the lines of files"
    description = (
        "Search the files below the allowed roots for exact text or a regular expression. Each passage has 10 lines "
        "around its matches, which are marked with >. A text that no file holds whole is looked for by its words."
    )
    output: ClassVar[Any] = UnmarkedResults
    scope: ClassVar[Scope] = Scope.TOOLS

    query: str = Field(
        min_length=1, max_length=files.MAX_GREP_QUERY, description="The text, or the regular expression, of one line."
    )
    mode: Literal["literal", "regex"] = Field(
        "literal", description="literal: every character is text; regex: syntax of Rust's regex crate."
    )
    globs: list[Annotated[str, Field(min_length=1, max_length=files.MAX_GLOB)]] | None = Field(
        None,
        max_length=files.MAX_GLOBS,
        description='Patterns of gitignore over paths, "!" excludes: ["*.py", "!tests/"].',
    )
    case: Literal["smart", "sensitive", "insensitive"] = Field(
        "smart", description="smart: insensitive unless the query has a capital letter."
    )
    max_passages: int = Field(
        files.DEFAULT_PASSAGES, alias="max", ge=1, le=files.MAX_PASSAGES, description="Passages at most."
    )

    async def run(self, services: McpServices, principal: Principal) -> ToolOutcome:
        request = files.GrepRequest(
            query=self.query,
            mode=files.GrepMode(self.mode),
            globs=tuple(self.globs or ()),
            case=files.GrepCase(self.case),
            max_passages=self.max_passages,
        )
        result = await services.use_cases.grep.grep(request, principal=principal)
        services.count_grep(result)
        return ToolOutcome(text=grep_text(result), document=unmarked_results(result), status=grep_status(result))

    @classmethod
    def seconds(cls, limits: McpLimits) -> float:
        return limits.grep_seconds


class ReadFile(ToolCall):
    name = "read_file"
    title = "Read a file"
    description = (
        "Read a text file below the allowed roots, whole or some lines of it, by the path that a search named. "
        f"{LINES} "
        "An error starts with [ERROR: NOT_FOUND], [ERROR: ACCESS_DENIED], [ERROR: TOO_LARGE], [ERROR: BINARY] or "
        "[ERROR: DECODE]."
    )
    output: ClassVar[Any] = FileContent
    scope: ClassVar[Scope] = Scope.TOOLS

    path: str = Field(min_length=1, max_length=files.MAX_PATH, description="root/relative, or relative to any root.")
    line_start: int | None = Field(None, ge=1, le=2**31 - 1, description="First line, from 1.")
    line_end: int | None = Field(None, ge=1, le=2**31 - 1, description="Last line, inclusive.")

    async def run(self, services: McpServices, principal: Principal) -> ToolOutcome:
        file = await services.use_cases.read_file.read(
            self.path, principal=principal, line_start=self.line_start, line_end=self.line_end
        )
        text = file_length(file.total_lines) if file.line_start > file.total_lines else file.text
        return ToolOutcome(text=text, document=filled(FileContent, file))


class Ask(ToolCall):
    name = "ask"
    title = "Ask a question"
    description = (
        "Answer a question from the documents, with citations [n], or abstain where they do not hold an answer. "
        f"{LINES} Nothing of it is stored."
    )
    output: ClassVar[Any] = CitedAnswer
    scope: ClassVar[Scope] = Scope.ASK

    query: Question
    limit: Limit = 10
    filters: FiltersArgument = None
    include_memory: bool = Field(False, description="Search the memories too.")
    profile: str | None = Field(
        None, max_length=100, description="How to search: files asks the files below the roots too."
    )

    async def run(self, services: McpServices, principal: Principal) -> ToolOutcome:
        request = SearchRequest(
            query=self.query,
            limit=self.limit,
            filters=parse_filters(self.filters),
            include_memory=self.include_memory,
            profile=self.profile,
        )
        answer = await final_answer(
            services.use_cases.answer.stream(request, principal=principal), on_search=services.count_search
        )
        return ToolOutcome(text=answer_text(answer), document=cited_answer(answer))

    @classmethod
    def seconds(cls, limits: McpLimits) -> float:
        return limits.ask_seconds


class Context(ToolCall):
    name = "context"
    title = "Recall what is known"
    description = "Recall memories, turns of conversations and facts as a briefing, fenced as data for a prompt."
    output: ClassVar[Any] = Recalled
    scope: ClassVar[Scope] = Scope.SEARCH

    query: str | None = Field(None, description="What the conversation is about; left out: what is recent.")
    limit: int | None = Field(None, ge=1, le=MAX_CONTEXT_ITEMS, description="Items at most.")
    session: str | None = Field(None, min_length=1, max_length=MAX_ITEM_NAME, description="Of one session only.")

    async def run(self, services: McpServices, principal: Principal) -> ToolOutcome:
        context = await services.use_cases.context.load(
            DEFAULT_QUERY if self.query is None else self.query,
            limit=self.limit,
            session=self.session,
            principal=principal,
        )
        services.count_search(context.response)
        return ToolOutcome(text=context.context or "Nothing is remembered.", document=recalled(context))


TOOLS: tuple[type[ToolCall], ...] = (HybridSearch, VectorSearch, MemorySearch, GrepSearch, ReadFile, Ask, Context)
