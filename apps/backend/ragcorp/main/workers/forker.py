"""As a program: imports the service once and forks its processes, which share that memory until they write to it.

It has one thread and no event loop, so that a fork copies neither. A byte on stdin's socket comes with the descriptor
of a new process's channel; the end of that socket ends the program.
"""

import gc
import os
import signal
import socket
import sys
from importlib import import_module
from importlib.util import find_spec

from ragcorp.main.process.standard_streams import prepare_standard_streams
from ragcorp.main.workers.worker import run_worker

IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals to the group of processes: the supervisor ends the others."""

PRELOADED = {"mcp": ("ragcorp.interface.mcp.endpoint", "ragcorp.interface.mcp.server")}
"""Modules that a worker imports where the extra is installed: 23 MB."""


def main() -> None:
    listener = socket.socket(fileno=int(sys.argv[1]))
    orders = socket.socket(fileno=os.dup(0))
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    for extra, modules in PRELOADED.items():
        if find_spec(extra) is not None:
            for module in modules:
                import_module(module)
    gc.collect()
    gc.freeze()  # a collection would write to the shared memory
    while True:
        order, descriptors, _, _ = socket.recv_fds(orders, 1, 1)
        if not order:
            return
        (descriptor,) = descriptors
        if os.fork() == 0:
            orders.close()
            os.close(0)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            prepare_standard_streams()
            os._exit(run_worker(socket.socket(fileno=descriptor), listener))
        os.close(descriptor)


if __name__ == "__main__":
    main()
