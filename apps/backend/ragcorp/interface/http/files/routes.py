"""POST /grep and POST /files/read: search and read files where they are stored."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field
from starlette.responses import Response

from ragcorp.domain.files import values as files
from ragcorp.interface.http.call import CurrentCall, json_response, operations
from ragcorp.interface.http.protocol.descriptions import problems
from ragcorp.interface.http.protocol.models import StrictModel
from ragcorp.interface.http.streams.event_stream import EVENT_STREAM, SEARCH_EVENTS, stream_result
from ragcorp.interface.shapes.files import FileContent, GrepResults, grep_document
from ragcorp.interface.shapes.result_text import GrepStatus
from ragcorp.interface.shapes.values import filled

MAX_LINE = 2**31 - 1

GREP_EXAMPLE: dict[str, Any] = {"query": "plazo de entrega", "mode": "literal", "globs": ["*.md"], "max": 20}
READ_EXAMPLE: dict[str, Any] = {"path": "docs/contratos/marco.md", "line_start": 10, "line_end": 40}

Line = Annotated[int, Field(ge=1, le=MAX_LINE)]


class GrepBody(StrictModel):
    """A search in the files below the allowed roots."""

    model_config = ConfigDict(json_schema_extra={"examples": [GREP_EXAMPLE]})

    query: str = Field(
        max_length=files.MAX_GREP_QUERY,
        description="One line of text, looked for as a whole, else by its words (24 terms at most, identifiers first); "
        "or a regular expression, in which letters outside ASCII match UTF-8 and UTF-16 files only. In text, a hyphen "
        "matches printed ones (U+2010 to U+2013, U+2212) too, and straight quotes curly ones.",
        json_schema_extra={"minLength": 1},
    )
    mode: files.GrepMode = Field(files.GrepMode.LITERAL, description="`regex` has the syntax of Rust's regex crate.")
    case: files.GrepCase = Field(
        files.GrepCase.SMART, description="`smart`: insensitive where a term has no capital letter."
    )
    globs: list[Annotated[str, Field(min_length=1, max_length=files.MAX_GLOB)]] = Field(
        default_factory=list,
        max_length=files.MAX_GLOBS,
        description="Patterns of gitignore over the path below a root; with `!` those that are left out.",
    )
    max: int = Field(files.DEFAULT_PASSAGES, ge=1, le=files.MAX_PASSAGES, description="Passages to return.")
    gitignore: bool = Field(True, description="Leave out what .gitignore names.")
    stream: bool = Field(False, description="Answer with server-sent events.")

    def as_request(self) -> files.GrepRequest:
        return files.GrepRequest(
            query=self.query,
            mode=self.mode,
            case=self.case,
            globs=tuple(self.globs),
            max_passages=self.max,
            gitignore=self.gitignore,
        )


class ReadBody(StrictModel):
    """A file to read, whole or in part."""

    model_config = ConfigDict(json_schema_extra={"examples": [READ_EXAMPLE]})

    path: str = Field(
        max_length=files.MAX_PATH, description="`root/relative`, or `relative` alone: as citations have it."
    )
    line_start: Line | None = Field(None, description="First line, from 1.")
    line_end: Line | None = Field(None, description="Last line, included.")


FILE_ERRORS = """\
An error's `detail` starts with its kind: `[ERROR: NOT_FOUND]`, `[ERROR: ACCESS_DENIED]` (with the names of the allowed
roots), `[ERROR: TOO_LARGE]`, `[ERROR: BINARY]` or `[ERROR: DECODE]`; 413, 415 and 422 then speak of the file, not of
the body.
"""

router = operations("files")


@router.post(
    "/grep",
    summary="Search the files",
    description=SEARCH_EVENTS,
    response_model=GrepResults,
    responses={200: EVENT_STREAM, **problems(403, 413, 415, 422, 503)},
)
async def grep(body: GrepBody, call: CurrentCall) -> Response:
    searching = call.use_cases.grep.grep(body.as_request(), principal=call.principal)
    seconds = call.limits.grep_timeout_seconds

    def rendered(result: files.GrepResult) -> tuple[GrepStatus, GrepResults]:
        call.metrics.count_grep(result)
        results: GrepResults = {"request_id": call.request_id, **grep_document(result)}
        return results["status"], results

    if body.stream:
        return await stream_result(call, searching, rendered, seconds=seconds)
    call.allow(seconds)
    return json_response(rendered(await call.unless_disconnected(searching))[1])


@router.post(
    "/files/read",
    summary="Read a file",
    description=FILE_ERRORS,
    response_model=FileContent,
    responses=problems(403, 404, 413, 415, 422, 503),
)
async def read_file(body: ReadBody, call: CurrentCall) -> Response:
    reading = call.use_cases.read_file.read(
        body.path, principal=call.principal, line_start=body.line_start, line_end=body.line_end
    )
    return json_response(filled(FileContent, await call.unless_disconnected(reading)))
