"""Chunk ids as the domain writes them, and as the database does."""

from __future__ import annotations

import re
from collections.abc import Sequence

CHUNK_ID = re.compile(r"[0-9]{1,18}")
"""A source of the user's own may name anything: what cannot be an id of ours is no chunk."""


def database_ids(chunk_ids: Sequence[str]) -> list[int]:
    return [int(chunk_id) for chunk_id in chunk_ids if CHUNK_ID.fullmatch(chunk_id)]
