"""Where tests keep what they throw away again: in memory where there is enough of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 4 * 1024**3
"""Two servers with their write-ahead logs, and what tests put into them, take less than half of it."""


def memory_folder() -> Path | None:
    """Return the folder in memory, if it has room. A new database is a thousand files, and disks are slow."""
    roomy = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM
    return MEMORY if roomy else None
