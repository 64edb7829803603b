"""What makes two requests with one Idempotency-Key the same: their parts, however they are delimited and cut."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragcorp.interface.http.layers.idempotency import _Fingerprint

BOUNDARIES = ("b", "--b", "limite.+(x)?")
PIECES = st.sampled_from(
    [b"b", b"--b", b"\r\n", b"\r\n--", b"--", b"x", b"limite.+(x)?", b"\n--b", b"\r\n--bx", b"\r\n\r\n", b"\r"]
)
TEXTS = st.lists(PIECES, max_size=6).map(b"".join)


def delimits(boundary: str, text: bytes) -> bool:
    line = b"\r\n--" + boundary.encode()
    return line + b"\r\n" in (whole := b"\r\n" + text + b"\r\n--") or line + b"--" in whole


def digest(boundary: str, parts: list[bytes], cuts: list[int]) -> bytes:
    scope = {
        "method": "PUT",
        "raw_path": b"/documents/a",
        "query_string": b"",
        "headers": [
            (b"content-type", f'multipart/form-data; boundary="{boundary}"'.encode()),
            (b"transfer-encoding", b"chunked"),
        ],
    }
    line = b"--" + boundary.encode()
    body = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"
    fingerprint = _Fingerprint(scope)
    places = sorted({0, len(body), *(cut % (len(body) + 1) for cut in cuts)})
    for start, end in pairwise(places):
        fingerprint.feed({"type": "http.request", "body": body[start:end], "more_body": end < len(body)})
    assert fingerprint.is_complete
    return fingerprint.digest()


@given(
    one=st.lists(TEXTS, min_size=1, max_size=3),
    other=st.lists(TEXTS, min_size=1, max_size=3),
    boundaries=st.tuples(st.sampled_from(BOUNDARIES), st.sampled_from(BOUNDARIES)),
    cuts=st.lists(st.integers(0, 10_000), max_size=8),
)
def test_forms_are_the_same_where_their_parts_are(
    one: list[bytes], other: list[bytes], boundaries: tuple[str, str], cuts: list[int]
) -> None:
    first, second = boundaries
    if any(delimits(first, part) for part in one) or any(delimits(second, part) for part in (*one, *other)):
        return  # no sender draws such a boundary
    whole = digest(first, one, [])
    assert digest(second, one, cuts) == whole
    assert (digest(second, other, cuts) == whole) == (one == other)
