"""What passes between the service and a child: messages with their length in front."""

import io
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from struct import Struct
from typing import IO, Any

from ragcorp.domain.exceptions import RagcorpError, UnreadableDocumentError

LENGTH = Struct(">Q")
_VALUES = "ragcorp.domain."

Record = tuple[str, int, str]
"""A line of the child's log: logger, level, text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """``value``, or the ``error`` that the work raised. ``last``: the child ends now."""

    value: Any = None
    error: tuple[type[RagcorpError], tuple[Any, ...], dict[str, Any]] | None = None
    records: Sequence[Record] = ()
    last: bool = False

    def result(self) -> Any:
        """Return the value, or raise the error."""
        if self.error is None:
            return self.value
        kind, arguments, state = self.error
        error = kind.__new__(kind, *arguments)
        error.__dict__.update(state)
        raise error


def refusal(error: RagcorpError) -> tuple[type[RagcorpError], tuple[Any, ...], dict[str, Any]]:
    """Return an error as ``Answer`` carries it: exceptions with other constructors do not survive pickling."""
    return type(error), error.args, error.__dict__


def crashed() -> UnreadableDocumentError:
    return UnreadableDocumentError(
        "The file makes its parser crash.",
        field="content",
        remedy="Open it in its own program, save it again and send the new file.",
        reason="crashed",
    )


def write_message(stream: IO[bytes], value: object) -> None:
    payload = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    stream.write(LENGTH.pack(len(payload)))
    stream.write(payload)
    stream.flush()


def read_message(stream: IO[bytes]) -> Any:
    """Return the next message of the service, which is trusted; None at the end of the stream."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    return pickle.loads(stream.read(LENGTH.unpack(head)[0]))  # noqa: S301


def answer_of(payload: bytes) -> Answer:
    """Return a child's answer. It may build our values only: a file that took the child over must not take us over.

    Raises UnpicklingError.
    """
    answer = _Values(io.BytesIO(payload)).load()
    if not isinstance(answer, Answer):
        raise pickle.UnpicklingError
    return answer


class _Values(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if "." not in name and ((module, name) == (__name__, Answer.__name__) or module.startswith(_VALUES)):
            value_type = super().find_class(module, name)
            if isinstance(value_type, type) and value_type.__module__ == module:
                if issubclass(value_type, Enum):
                    return partial(_member, value_type)  # pickle can set attributes of the class itself
                if hasattr(value_type, "__setstate__"):  # frozen values and exceptions: of those it cannot
                    return value_type
        raise pickle.UnpicklingError


def _member(kind: type[Enum], value: object) -> Enum:
    return kind(value)
