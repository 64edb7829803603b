"""Reads server-sent events."""

from __future__ import annotations

import json
from typing import Any

Event = tuple[str, Any]


def events_of(text: str) -> list[Event]:
    """Return name and data of each event; comments are passed over."""
    events: list[Event] = []
    for block in text.replace("\r\n", "\n").strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        if "event" in lines:
            events.append((lines["event"], json.loads(lines["data"])))
    return events
