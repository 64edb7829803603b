"""Security headers of every response: no sniffing, caching, framing or scripts. Pure."""

import base64
import hashlib
import re
from collections.abc import Iterable

Header = tuple[bytes, bytes]

POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""For everything but pages: a browser that opens a user's document as a page loads and runs nothing."""

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
"""For the web page: only the service's own scripts, styles and requests; no text becomes a script."""

_ALWAYS: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_DEFAULTS: tuple[Header, ...] = ((b"content-security-policy", POLICY.encode()), (b"cache-control", b"no-store"))
_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def with_security_headers(headers: Iterable[Header]) -> list[Header]:
    """Add the security headers; a response keeps its own content and cache policies."""
    own = list(headers)
    names = {name.lower() for name, _ in own}
    return [
        *(header for header in own if header[0].lower() not in dict(_ALWAYS)),
        *_ALWAYS,
        *(header for header in _DEFAULTS if header[0] not in names),
    ]


def docs_policy(page: bytes) -> str:
    """Return the policy of the interactive description: its scripts by hash, requests to this service only."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'" for script in _SCRIPT.findall(page)
    )
    return (
        f"default-src 'none'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
