"""Who may read what."""

from __future__ import annotations

from typing import Any

import pytest

from ragcorp.application.retrieval.steps.visibility_policy import only_readable, readable
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.principal import Principal, Sensitivity
from support.retrieval.candidates import candidate, described, names

ANA = Principal(subject="ana", groups=frozenset({"legal"}), clearance=Sensitivity.CONFIDENTIAL)
GROUP, PRIVATE = VisibilityScope.GROUP, VisibilityScope.PRIVATE


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, True),
        ({"workspace": "otra"}, False),
        ({"sensitivity": Sensitivity.CONFIDENTIAL}, True),
        ({"sensitivity": Sensitivity.RESTRICTED}, False),
        ({"visibility_scope": GROUP, "owner": "legal"}, True),
        ({"visibility_scope": GROUP, "owner": "ana"}, False),
        ({"visibility_scope": GROUP, "owner": "ventas"}, False),
        ({"visibility_scope": PRIVATE, "owner": "ana"}, True),
        ({"visibility_scope": PRIVATE, "owner": "legal"}, False),
        ({"visibility_scope": PRIVATE, "owner": ""}, False),
        ({"visibility_scope": PRIVATE, "owner": "ana", "sensitivity": Sensitivity.RESTRICTED}, False),
        ({"visibility_scope": PRIVATE, "owner": "ana", "workspace": "otra"}, False),
        ({"visibility_scope": "un ámbito nuevo"}, False),
    ],
)
def test_the_rule(fields: dict[str, Any], expected: bool) -> None:
    assert readable(ANA, described(**fields)) is expected


def test_the_policy_keeps_the_order_and_counts_what_went() -> None:
    given = [
        candidate("3", 0.3),
        candidate("2", 0.3, visibility_scope=PRIVATE, owner="luis"),
        candidate("1", 0.1, visibility_scope=PRIVATE, owner="ana"),
    ]
    outcome = only_readable(given, principal=ANA)
    assert names(outcome.candidates) == ["3", "1"]
    assert (outcome.report.step, outcome.report.before, outcome.report.removed) == ("visibility", 3, 1)
