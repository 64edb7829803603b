"""The shield between the parsing libraries and us."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace

from ragcorp.domain.exceptions import MissingExtraError, RagcorpError
from ragcorp.infrastructure.child_environment import child_environment
from ragcorp.infrastructure.parsing import kreuzberg_call
from ragcorp.infrastructure.parsing.kreuzberg_call import Extracted, Request, call
from ragcorp.infrastructure.parsing.limits import corrupt, encrypted

EXTRA = "parsers"
_SETTINGS_OF_PARSERS = ("TESSDATA_PREFIX", "KREUZBERG_CACHE_DIR", "XDG_CACHE_HOME", "PYTHONHOME", "PYTHONPATH")


@contextmanager
def shielded(kind: str) -> Iterator[None]:
    """Turn whatever a parsing library raises, panics of Rust code included, into UnreadableDocumentError."""
    try:
        yield
    except (RagcorpError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except ImportError as error:
        raise MissingExtraError(feature=f"Reading {kind} files", extra=EXTRA) from error
    except BaseException as error:  # a panic is no Exception
        raise (encrypted(kind) if "password" in str(error).lower() else corrupt(kind)) from error


def extract(data: bytes, request: Request, kind: str) -> Extracted:
    """Return what kreuzberg reads.

    A panic while it reads a PDF poisons PDFium's lock for the rest of the process. A file that meets a poisoned lock,
    or panics itself, is therefore read again in a child process, the last time without its properties, whose dates
    are a cause of panics in kreuzberg 4.10.
    """
    with shielded(kind):
        try:
            return call(data, request)
        except BaseException as error:
            if not _is_panic(str(error), type(error).__name__):
                raise
        try:
            return _in_child(data, request)
        except _ChildError as error:
            if not _is_panic(str(error)):
                raise
        return _in_child(data, replace(request, properties=False))


class _ChildError(Exception):
    """What the child answered when it could not read the file."""


def _in_child(data: bytes, request: Request) -> Extracted:
    done = subprocess.run(  # noqa: S603  (our own program)
        [sys.executable, "-P", kreuzberg_call.__file__, json.dumps(asdict(request))],
        input=data,
        capture_output=True,
        timeout=2 * kreuzberg_call.TIMEOUT_SECONDS,
        check=True,
        env=child_environment(also=_SETTINGS_OF_PARSERS),
    )
    answer = json.loads(done.stdout)
    if "failed" in answer:
        raise _ChildError(answer["failed"])
    return Extracted(**answer["done"])


def _is_panic(message: str, name: str = "") -> bool:
    return "panic" in f"{name} {message}".lower() or "poisoned" in message
