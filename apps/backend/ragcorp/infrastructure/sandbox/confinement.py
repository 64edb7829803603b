"""Limits that a process puts on itself before it reads a hostile file. What a platform lacks is left out."""

import ctypes
import os
import resource
import signal
import struct
import sys
import threading
import time
from contextlib import suppress

OUT_OF_MEMORY = 77
"""Exit code of a process that used more memory than it may."""

_OPEN_FILES = 64
_WATCH_SECONDS = 0.02
_NICE = 10
_SPARE_BYTES = 512 << 20
"""Data beyond the limit that the watcher sees in time: the kernel refuses more at once."""

_PARENT_DEATH_SIGNAL, _NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 1, 38, 22, 2
_DENIED = {
    # ptrace, execve, execveat, kill, socket, process_vm_readv, process_vm_writev, io_uring_setup
    "x86_64": (0xC000003E, (101, 59, 322, 62, 41, 310, 311, 425)),
    "aarch64": (0xC00000B7, (117, 221, 281, 129, 198, 270, 271, 425)),
}
"""The architecture, as seccomp names it, and the numbers of system calls."""
_X32 = 0x40000000
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001
_DENIED_EVENTS = ("socket.__new__", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.fork")


def confine(*, parent: int, memory_bytes: int) -> None:
    """Bind this process: no file grows, no socket is opened, no program started, and it ends with its parent."""
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    if sys.platform == "linux":
        with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:  # noqa: PTH123
            score.write("1000")
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes + _SPARE_BYTES,) * 2)
        libc = ctypes.CDLL(None)
        libc.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        _deny_system_calls(libc)
    sys.addaudithook(_refuse)
    threading.Thread(target=_watch, args=(parent, memory_bytes), daemon=True).start()


def allow_cpu(seconds: float) -> None:
    """Let the process use so much CPU time from now on; then SIGXCPU ends it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 1, hard))


def resident_bytes() -> int:
    """Return the memory in use; without /proc the most that was ever in use."""
    try:
        with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123
            return int(statm.read().split()[1]) * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _watch(parent: int, memory_bytes: int) -> None:
    while os.getppid() == parent:
        if resident_bytes() > memory_bytes:
            os._exit(OUT_OF_MEMORY)
        time.sleep(_WATCH_SECONDS)
    os._exit(0)


def _refuse(event: str, _: object) -> None:
    if event in _DENIED_EVENTS:
        raise PermissionError(event)


def _deny_system_calls(libc: ctypes.CDLL) -> None:
    """Make the kernel refuse them, to native code too (seccomp, which needs no privileges)."""
    if os.uname().machine not in _DENIED:
        return
    architecture, calls = _DENIED[os.uname().machine]
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    program = [(load, 0, 0, 4), (equal, 1, 0, architecture), (give, 0, 0, _REFUSE), (load, 0, 0, 0)]
    program += [(at_least, len(calls) + 1, 0, _X32)]
    program += [(equal, len(calls) - place, 0, call) for place, call in enumerate(calls)]
    program += [(give, 0, 0, _ALLOW), (give, 0, 0, _REFUSE)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    filter_ = ctypes.create_string_buffer(struct.pack("HP", len(program), ctypes.addressof(code)))
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    libc.prctl(_SECCOMP, _FILTER, filter_, 0, 0)
