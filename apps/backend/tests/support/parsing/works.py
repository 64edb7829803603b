"""Pieces of work for children: each gets the reader first, and does what a hostile file makes a parser do."""

from __future__ import annotations

import ctypes
import logging
import os
import pickle
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ragcorp.domain.exceptions import MissingExtraError, PayloadTooLargeError

BLOCK = 1 << 20


def pid(_: object) -> int:
    return os.getpid()


def sleep(_: object, seconds: float) -> None:
    time.sleep(seconds)


def spin(_: object) -> None:
    while True:
        pass


def fill(_: object, megabytes: int) -> int:
    return len([bytes([number % 256]) * BLOCK for number in range(megabytes)])


def grab(_: object, megabytes: int) -> int:
    return len(bytearray(megabytes * BLOCK))


def keep(_: object, megabytes: int) -> int:
    """As a library that frees nothing."""
    sys.modules[__name__].__dict__["KEPT"] = [bytes([number % 256]) * BLOCK for number in range(megabytes)]
    return os.getpid()


def segfault(_: object) -> None:
    ctypes.string_at(0)


def fail(_: object, message: str) -> None:
    raise ValueError(message)


def refuse(_: object) -> None:
    raise PayloadTooLargeError("too much", field="content", limit="1", remedy="less")


def miss(_: object) -> None:
    raise MissingExtraError(feature="Reading", extra="parsers")


def log(_: object, text: str) -> str:
    logging.getLogger("a.library").warning("seen: %s", text)
    return text


def write(_: object, path: str) -> None:
    with Path(path).open("w") as file:
        file.write("x")


def connect(_: object) -> None:
    socket.create_connection(("127.0.0.1", 9))


def native_socket(_: object) -> int:
    """Return the error of the system call itself, which no audit hook sees."""
    libc = ctypes.CDLL(None, use_errno=True)
    return ctypes.get_errno() if libc.socket(2, 1, 0) < 0 else 0


def run(_: object) -> None:
    subprocess.run(["/bin/true"], check=True)


def native_exec(_: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.execve(b"/bin/true", None, None)
    return ctypes.get_errno()


def signal_parent(_: object) -> None:
    os.kill(os.getppid(), 0)


def environment(_: object) -> dict[str, str]:
    return dict(os.environ)


def shout(_: object) -> str:
    os.write(1, b"not an answer\n")
    print("nor this")
    return "done"


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/evil",)


def evil(_: object) -> Evil:
    return Evil()


def evil_by_attribute(_: object) -> Any:
    class Dotted:
        def __reduce__(self) -> Any:
            return pickle.Unpickler, ()

    return Dotted()
