"""Chunk ids: text in the domain, integers in the database."""

import re
from collections.abc import Sequence

CHUNK_ID = re.compile(r"[0-9]{1,18}")
"""A custom source may return any text: one that cannot be a database id names no chunk."""


def database_ids(chunk_ids: Sequence[str]) -> list[int]:
    return [int(chunk_id) for chunk_id in chunk_ids if CHUNK_ID.fullmatch(chunk_id)]
