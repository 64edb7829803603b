"""Whose entities give way to whose, and that no two take turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.domain.structure.fingerprint import StructureFingerprint


def read(fingerprint: str) -> StructureFingerprint:
    return StructureFingerprint.read(fingerprint)


@pytest.mark.parametrize(
    ("ours", "stored", "symbols", "others"),
    [
        ("structure-2:o:go,python", "structure-2:o:python", True, True),
        ("structure-2:o:go,python", "structure-2:o:", True, True),
        ("structure-2:o:go,python", "structure-2:o:go,python", False, False),
        ("structure-2:o:python", "structure-2:o:go,python", False, False),
        ("structure-2:o:", "structure-2:o:go,python", False, False),
        ("structure-2:o:go", "structure-2:o:python", False, False),
        # as numbers, not as text
        ("structure-10:o:go", "structure-9:o:go", True, True),
        ("structure-9:o:go,python", "structure-10:o:go", False, False),
        ("structure-3:o:", "structure-2:o:", True, True),
        ("structure-3:o:", "structure-2:o:go", False, True),
        ("structure-3:o:python", "structure-2:o:go,python", False, True),
        ("structure-3:o:go,python", "structure-2:o:go", True, True),
        ("structure-2:new:go", "structure-2:o:go", True, True),
        ("structure-2:new:", "structure-2:o:go", False, True),
        ("structure-2:o:go", "older", True, True),
        ("structure-2:o:go", "", True, True),
        ("structure-2:o:go", "structure-2", True, True),
    ],
)
def test_what_replaces_what(ours: str, stored: str, symbols: bool, others: bool) -> None:
    assert read(ours).replaces(read(stored), has_symbols=True) is symbols
    assert read(ours).replaces(read(stored), has_symbols=False) is others


FINGERPRINTS = st.builds(
    lambda version, grammars: f"structure-{version}:o:{','.join(sorted(grammars))}",
    st.integers(0, 12),
    st.sets(st.sampled_from(["go", "python", "rust"])),
)


@given(services=st.lists(FINGERPRINTS, min_size=2, max_size=4), stored=FINGERPRINTS, has_symbols=st.booleans())
def test_services_that_share_a_database_come_to_rest(services: list[str], stored: str, has_symbols: bool) -> None:
    for _ in range(len(services) + 1):
        before = stored
        for service in services:
            if read(service).replaces(read(stored), has_symbols=has_symbols):
                stored = service
        if stored == before:
            return
    pytest.fail("they take turns")
