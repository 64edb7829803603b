"""Use case: search by the profile whose turn it is while a new one is rolled out."""

from __future__ import annotations

from dataclasses import replace

from ragcorp.application.retrieval.rollout.assignment import Rollout
from ragcorp.application.retrieval.rollout.observers import RolloutObservers
from ragcorp.application.retrieval.rollout.shadow import Answered, ShadowSearch
from ragcorp.application.retrieval.search import page_cursor
from ragcorp.domain.ports.use_cases import ChunkSearch
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchMode, SearchRequest, SearchResponse
from ragcorp.domain.search.rollout import Arm


class RolledOutSearch:
    """Decides what mode auto means, query by query; what the caller decides is not its business."""

    def __init__(
        self, *, search: ChunkSearch, rollout: Rollout, observers: RolloutObservers, shadow: ShadowSearch
    ) -> None:
        self._search = search
        self._rollout = rollout
        self._observers = observers
        self._shadow = shadow

    async def search(self, request: SearchRequest, *, principal: Principal) -> SearchResponse:
        """Return what the wrapped search returns for the arm, and raise what it raises.

        A first page from the old arm is followed by a shadow of the new one, if the roll-out says so.
        """
        if request.mode is not SearchMode.AUTO or request.profile is not None or request.by_keywords:
            return await self._search.search(request, principal=principal)
        arm = self._arm(request, principal)
        asked = self._rollout.profile(arm).applied_to(request)
        response = await self._search.search(asked, principal=principal)
        self._observers.arm_served(arm)
        if self._rollout.shadow and arm is Arm.OLD and request.cursor is None:
            candidate = self._rollout.new.applied_to(request)
            self._shadow.start(Answered(request=asked, response=response, candidate=candidate, principal=principal))
        if response.explanation is None:
            return response
        return replace(response, explanation={**response.explanation, "arm": arm.value})

    def _arm(self, request: SearchRequest, principal: Principal) -> Arm:
        """Return the arm that the cursor comes from, also after the share was changed, else the query's."""
        if request.cursor is not None:
            for arm in Arm:
                if page_cursor.belongs_to(self._rollout.profile(arm).applied_to(request)):
                    return arm
        return self._rollout.arm_of(workspace=principal.workspace, query=request.query)
