"""What every response tells a browser: do nothing with it, keep nothing of it, show it in no frame. Pure."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable

Header = tuple[bytes, bytes]

POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""Of all that is no page: a browser that takes a document of a user's for one loads and runs nothing."""

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
"""Of the web page: it runs, shows and asks what is the service's own, and no text becomes a script."""

_ALWAYS: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_UNLESS_GIVEN: tuple[Header, ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"cache-control", b"no-store"),
)
_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def with_security_headers(headers: Iterable[Header]) -> list[Header]:
    """Return the headers of a response with those of every one; a policy of content or caching of its own stays."""
    given = list(headers)
    names = {name.lower() for name, _ in given}
    return [
        *(header for header in given if header[0].lower() not in dict(_ALWAYS)),
        *_ALWAYS,
        *(header for header in _UNLESS_GIVEN if header[0] not in names),
    ]


def docs_policy(page: bytes) -> str:
    """Return the policy of the interactive description: it runs its own scripts, by their hash, and asks us alone."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'" for script in _SCRIPT.findall(page)
    )
    return (
        f"default-src 'none'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
