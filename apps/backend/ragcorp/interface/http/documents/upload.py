"""Reads a document sent as JSON, as a form with a file, or as the file itself."""

import json
from contextlib import aclosing
from typing import cast

from pydantic import ValidationError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser, MultipartPart
from starlette.requests import Request
from starlette.types import Message, Receive

from ragcorp.domain.documents import SourceFile
from ragcorp.domain.exceptions import InvalidInputError, UnsupportedMediaTypeError
from ragcorp.domain.ingestion import IngestRequest
from ragcorp.interface.http.call import Call
from ragcorp.interface.http.documents.schema import DocumentBody, DocumentFields
from ragcorp.interface.http.protocol.bodies import (
    JSON,
    declared_length,
    media_type_of,
    read_body,
    read_json,
    too_large,
    upload_time,
)
from ragcorp.interface.http.protocol.document_names import base_name, filename_in
from ragcorp.interface.http.protocol.json_body import check_json
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.validation import refused
from ragcorp.interface.request_values import text_file

FORM = "multipart/form-data"
UNKNOWN = "application/octet-stream"
FORM_OVERHEAD_BYTES = 256 * 1024
"""Bytes for the fields and boundaries of a form, in addition to its file."""


class _FormParser(MultiPartParser):
    """Joins the pieces of a file: the parser cuts it at each carriage return, and would use a thread per piece."""

    spool_max_size = 0  # no limit: the whole file is read in the end

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        part = self._current_part
        pieces = cast("list[tuple[MultipartPart, bytearray]]", self._file_parts_to_write)
        if part.file is None:
            super().on_part_data(data, start, end)
        elif pieces and pieces[-1][0] is part:
            pieces[-1][1].extend(memoryview(data)[start:end])
        else:
            pieces.append((part, bytearray(data[start:end])))


async def read_document(call: Call, external_id: str) -> IngestRequest:
    """Return the document that the request sends. Raises InvalidInputError (or a subclass) or RequestRefusedError."""
    request, limits, default_language = call.request, call.limits, call.use_cases.default_language
    media_type = media_type_of(request)
    if media_type == JSON:
        body = await read_json(request, DocumentBody, limits)
        return document_of(external_id, body, default_language=default_language)
    if media_type == FORM:
        fields, file = await _read_form(request, limits)
    else:
        fields, file = DocumentFields(), await _read_file(request, media_type, limits)
    if file.media_type in ("", UNKNOWN):
        file = SourceFile(content=file.content, media_type="", filename=file.filename or base_name(external_id))
    return IngestRequest(
        external_id=external_id, file=file, attributes=fields.as_attributes(default_language=default_language)
    )


def document_of(external_id: str, body: DocumentBody, *, default_language: str) -> IngestRequest:
    return IngestRequest(
        external_id=external_id,
        file=text_file(external_id, body.text, media_type=body.media_type),
        attributes=body.as_attributes(default_language=default_language),
    )


async def _read_file(request: Request, media_type: str, limits: HttpLimits) -> SourceFile:
    if not media_type:
        raise UnsupportedMediaTypeError(
            "The request has no Content-Type.",
            field="Content-Type",
            remedy="Send application/json, multipart/form-data, or a file with its own type such as application/pdf.",
        )
    async with upload_time(request, limits):
        content = await read_body(request, limit=limits.max_file_bytes, setting="MAX_FILE_BYTES")
    return SourceFile(
        content=content, media_type=media_type, filename=filename_in(request.headers.get("content-disposition", ""))
    )


async def _read_form(request: Request, limits: HttpLimits) -> tuple[DocumentFields, SourceFile]:
    charset = parse_options_header(request.headers["content-type"])[1].get(b"charset", b"utf-8")
    if charset.lower() not in (b"utf-8", b"utf8"):
        raise UnsupportedMediaTypeError(
            "The form is not in UTF-8.", field="Content-Type", limit="charset=utf-8", remedy="Send it in UTF-8."
        )
    limit = limits.max_file_bytes + FORM_OVERHEAD_BYTES
    if declared_length(request) > limit:
        raise too_large(limits.max_file_bytes, "MAX_FILE_BYTES", field="file")
    bounded = Request(request.scope, _bounded(request.receive, limit, limits.max_file_bytes))
    texts: dict[str, str] = {}
    file: SourceFile | None = None
    try:
        async with upload_time(request, limits), aclosing(bounded.stream()) as stream:
            form = await _FormParser(
                bounded.headers,
                stream,
                max_files=1,
                max_fields=len(DocumentFields.model_fields),
                max_part_size=64 * 1024,
            ).parse()
            for name, value in form.multi_items():
                if isinstance(value, UploadFile):
                    if name != "file":
                        raise _bad_form("The file is not in the field 'file'.")
                    file = SourceFile(
                        content=await value.read(),
                        media_type=(value.content_type or "").partition(";")[0].strip().lower(),
                        filename=base_name(value.filename or ""),
                    )
                elif name in texts:
                    raise _bad_form("A field is in the form twice.")
                else:
                    texts[name] = value
    except (MultiPartException, HTTPException):
        raise _bad_form("The form cannot be read.") from None
    if file is None:
        raise InvalidInputError("The form has no file.", field="file", remedy="Send the file in the field 'file'.")
    return _form_fields(texts, limits), file


def _form_fields(texts: dict[str, str], limits: HttpLimits) -> DocumentFields:
    values: dict[str, object] = {name: value for name, value in texts.items() if value or name == "title"}
    try:
        if "metadata" in values:
            values["metadata"] = check_json(
                texts["metadata"].encode(), max_depth=limits.max_json_depth, field="metadata"
            )
        return DocumentFields.model_validate_json(json.dumps(values))
    except ValidationError as error:
        raise refused(error, DocumentFields) from None


def _bounded(receive: Receive, limit: int, file_limit: int) -> Receive:
    size = 0

    async def bounded() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > limit:
            raise too_large(file_limit, "MAX_FILE_BYTES", field="file")
        return message

    return bounded


def _bad_form(message: str) -> InvalidInputError:
    return InvalidInputError(
        message, field="body", remedy="Send multipart/form-data with one file and each other field at most once."
    )
