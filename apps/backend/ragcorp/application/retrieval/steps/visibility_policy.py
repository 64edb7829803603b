"""Visibility: the rule for reading that SQL enforces in every statement, enforced once more.

readable(p, d) = workspace(p) = workspace(d)  and  sensitivity(d) <= clearance(p)  and
                 (scope(d) = workspace, or group and owner(d) in groups(p), or private and owner(d) = subject(p))

``infrastructure/postgres/visibility/predicates.py`` has the rule in SQL; a property test keeps the two equal.
"""

from collections.abc import Sequence

from ragcorp.domain.documents import Chunk, VisibilityScope
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.search.candidates import Candidate, Description, StepOutcome

STEP = "visibility"
FORMULA = "same workspace, sensitivity <= clearance, scope workspace | group of the owner | private to the owner"


def readable(principal: Principal, description: Description) -> bool:
    """Return whether the principal may read a passage of this description. No one reads an unknown scope.

    >>> description = Description(
    ...     collection='memory', kind='fact', workspace='default', sensitivity=Sensitivity.NORMAL,
    ...     visibility_scope=VisibilityScope.PRIVATE, owner='marta', language='es',
    ... )
    >>> readable(Principal(subject='marta'), description), readable(Principal(subject='luis'), description)
    (True, False)
    """
    return description.workspace == principal.workspace and _passes(
        principal, description.sensitivity, description.visibility_scope, description.owner
    )


def readable_passage(principal: Principal, passage: Chunk) -> bool:
    """Return the same for a passage that was read in the principal's workspace.

    >>> from uuid import UUID
    >>> chunk = Chunk(
    ...     id='1', document_id=UUID(int=0), external_id='a', content='uno', title='', language='es', path=None,
    ...     line_start=1, line_end=1,
    ... )
    >>> readable_passage(Principal(), chunk)
    True
    """
    return _passes(principal, passage.sensitivity, passage.visibility_scope, passage.owner)


def _passes(principal: Principal, sensitivity: Sensitivity, scope: VisibilityScope, owner: str) -> bool:
    if sensitivity > principal.clearance:
        return False
    if scope == VisibilityScope.GROUP:
        return owner in principal.groups
    if scope == VisibilityScope.PRIVATE:
        return owner == principal.subject
    return scope == VisibilityScope.WORKSPACE


def only_readable(candidates: Sequence[Candidate], *, principal: Principal) -> StepOutcome:
    """Return the candidates that the principal may read, in their order.

    The report's ``removed`` should be 0: unreadable passages are removed from all lists before fusion.

    >>> only_readable([], principal=Principal()).report.removed
    0
    """
    kept = [candidate for candidate in candidates if readable(principal, candidate.description)]
    return StepOutcome.of(STEP, kept, before=len(candidates), formula=FORMULA)
