"""The exception tree. Adapters translate their libraries' errors into it; HTTP and the CLI map it once.

Every message is safe to show to a caller: it names the field, the limit and the remedy, and never contains a
value that the caller sent, SQL, a path of the host or a secret.
"""

from typing import Self


class RagcorpError(Exception):
    """Base of all errors that ragcorp raises on purpose.

    ``code`` is stable and machine-readable, and so is ``reason``, which tells errors of one code apart; ``remedy``
    says what the reader can do about it.

    >>> str(RagcorpError('query is empty.', field='query', remedy='Say what to look for.'))
    'query is empty. Say what to look for.'
    """

    code = "error"
    reason: str | None

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        limit: str | None = None,
        remedy: str | None = None,
        reason: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.limit = limit
        self.remedy = remedy
        self.reason = reason

    @classmethod
    def out_of_range(cls, field: str, limit: str, *, remedy: str | None = None) -> Self:
        return cls(f"{field} is out of range.", field=field, limit=limit, remedy=remedy)

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}" if self.remedy else self.message


class InvalidInputError(RagcorpError):
    """The input of the caller is not acceptable."""

    code = "invalid_input"


class InvalidRankingError(RagcorpError):
    """A source returned an invalid ranking: a hit without identity, a duplicate, or a score that is not finite."""

    code = "invalid_ranking"


class PayloadTooLargeError(InvalidInputError):
    """A body, file or text exceeds its limit."""

    code = "payload_too_large"


class UnsupportedMediaTypeError(InvalidInputError):
    """No parser supports this kind of file."""

    code = "unsupported_media_type"


class UnreadableDocumentError(InvalidInputError):
    """The file is of a supported kind, but yields no text (corrupt, encrypted or scanned).

    ``reason``: ``too_slow``, ``too_large_in_memory`` or ``crashed`` where its parser was ended, ``no_recognition``
    where only text recognition could read it. Another time or another installation may read such a file.
    """

    code = "unreadable_document"


class NotFoundError(RagcorpError):
    """The named thing does not exist in the caller's workspace."""

    code = "not_found"


class MissingFileError(NotFoundError):
    """A file or folder of the caller's own machine does not exist."""


class ConflictError(RagcorpError):
    """The write conflicts with the stored state."""

    code = "conflict"


class ConfigurationError(RagcorpError):
    """A setting or the machine keeps the service from starting."""

    code = "configuration"


class NotConfiguredError(ConfigurationError):
    """The requested feature is not configured; the rest of the service works."""

    code = "not_configured"


class MissingExtraError(ConfigurationError):
    """An optional dependency is not installed."""

    code = "missing_extra"

    def __init__(self, *, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the optional dependency group '{extra}'.",
            field=extra,
            remedy=f"Install it with: pip install 'ragcorp[{extra}]'",
        )


class IncompatibleEmbeddingsError(ConfigurationError):
    """The configured model or width differs from that of the stored vectors."""

    code = "incompatible_embeddings"


class SourceUnavailableError(RagcorpError):
    """An external system failed. ``reason`` is a short stable word for ``degraded``."""

    code = "unavailable"
    reason: str

    def __init__(
        self, message: str, *, reason: str = "unavailable", field: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message, field=field, remedy=remedy, reason=reason)


class StorageUnavailableError(SourceUnavailableError):
    """PostgreSQL cannot be reached, refuses, or took too long."""

    code = "storage_unavailable"


class EmbedderUnavailableError(SourceUnavailableError):
    """The embedding model returned no usable vectors."""

    code = "embedder_unavailable"


class AnswererUnavailableError(SourceUnavailableError):
    """The language model returned no usable answer."""

    code = "answerer_unavailable"


class BusyError(SourceUnavailableError):
    """All request slots are in use and none became free in time."""

    code = "busy"

    def __init__(self, message: str = "The service is busy: as many requests as may work at once do.") -> None:
        super().__init__(
            message,
            reason="busy",
            remedy="Try again; raise MAX_CONCURRENT_REQUESTS, MAX_STREAMS or DATABASE_POOL_SIZE if this lasts.",
        )


class AllSourcesFailedError(SourceUnavailableError):
    """Every retrieval source failed: an error, never an empty result."""

    code = "all_sources_failed"


class FileAccessError(RagcorpError):
    """A file below the allowed roots cannot be read. The message starts with ``[ERROR: <kind>]``.

    >>> FileAccessError('No such file.').message
    '[ERROR: FILE_ACCESS] No such file.'
    """

    code = "file_access"
    kind = "FILE_ACCESS"

    def __init__(self, message: str, *, limit: str | None = None, remedy: str | None = None) -> None:
        super().__init__(f"[ERROR: {self.kind}] {message}", field="path", limit=limit, remedy=remedy)


class FileNotFoundInRootsError(FileAccessError, NotFoundError):
    """No file with this path exists below the roots."""

    code = "not_found"
    kind = "NOT_FOUND"


class FileAccessDeniedError(FileAccessError):
    """The path leaves the roots, follows a link, names no regular file, or is not readable by the caller."""

    code = "access_denied"
    kind = "ACCESS_DENIED"


class FileTooLargeError(FileAccessError, PayloadTooLargeError):
    """The file, or the requested part of it, exceeds its limit."""

    code = "too_large"
    kind = "TOO_LARGE"


class FileIsBinaryError(FileAccessError, UnsupportedMediaTypeError):
    """The file holds binary data."""

    code = "binary"
    kind = "BINARY"


class FileUndecodableError(FileAccessError, UnreadableDocumentError):
    """The file's text encoding cannot be detected."""

    code = "undecodable"
    kind = "DECODE"
