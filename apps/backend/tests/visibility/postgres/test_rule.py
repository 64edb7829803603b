"""The rule of visibility in Python and the one in SQL are one rule."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.retrieval.steps.visibility_policy import readable
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.search.candidates import Description
from ragcorp.infrastructure.postgres.visibility.predicates import visibility
from support.retrieval.candidates import described

WORKSPACES = ["default", "otra", "otra-mas"]
NAMES = st.sampled_from(["ana", "Ana", "legal", "luis", "a,b", "{legal}", "%", "ñandú"]) | st.text(
    st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=8
)

PRINCIPALS = st.builds(
    Principal,
    workspace=st.sampled_from(WORKSPACES),
    subject=NAMES,
    groups=st.frozensets(NAMES, max_size=4),
    clearance=st.sampled_from(Sensitivity),
)


@st.composite
def policies(draw: st.DrawFn) -> tuple[Principal, list[Description]]:
    """A principal, and descriptions whose owners are mostly names that it goes by."""
    principal = draw(PRINCIPALS)
    owners = st.sampled_from(["", principal.subject, *sorted(principal.groups)]) | NAMES
    description = st.builds(
        described,
        workspace=st.sampled_from([principal.workspace, *WORKSPACES]),
        sensitivity=st.sampled_from(Sensitivity),
        visibility_scope=st.sampled_from(VisibilityScope),
        owner=owners,
    )
    return principal, draw(st.lists(description, min_size=1, max_size=12))


@pytest.mark.hypothesis
def test_both_say_the_same_of_random_policies(postgres_server: Any) -> None:
    verdicts: set[bool] = set()
    with postgres_server.superuser() as connection:

        @given(policies())
        def check(policy: tuple[Principal, list[Description]]) -> None:
            principal, descriptions = policy
            predicate = visibility(principal, alias="c")
            values: dict[str, object] = {
                "workspaces": [item.workspace for item in descriptions],
                "sensitivities": [int(item.sensitivity) for item in descriptions],
                "scopes": [item.visibility_scope.value for item in descriptions],
                "owners": [item.owner for item in descriptions],
            }
            rows = connection.execute(
                f"""
                SELECT {predicate.sql}
                FROM unnest(%(workspaces)s::text[], %(sensitivities)s::smallint[], %(scopes)s::text[],
                            %(owners)s::text[]) WITH ORDINALITY
                    AS c (workspace, sensitivity, visibility_scope, owner, number)
                ORDER BY number
                """,
                predicate.values | values,
            ).fetchall()
            in_python = [readable(principal, item) for item in descriptions]
            assert [row[0] for row in rows] == in_python
            verdicts.update(in_python)

        check()
    assert verdicts == {True, False}
