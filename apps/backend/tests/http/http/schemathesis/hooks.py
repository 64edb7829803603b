"""What Schemathesis cannot know: lines of JSON as a body."""

from __future__ import annotations

import json
from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines_of_json(_: Any, value: Any) -> bytes:
    """Send one line; a value that is no object is sent as it is."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()
