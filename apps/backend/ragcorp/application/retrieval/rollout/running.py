"""A roll-out in force: the arm of each search, its observers, and the shadow of the new arm."""

from dataclasses import dataclass, replace

from ragcorp.application.retrieval.rollout.assignment import Rollout, RolloutObservers
from ragcorp.application.retrieval.rollout.shadow import ShadowSearch
from ragcorp.application.retrieval.search import page_cursor
from ragcorp.application.retrieval.search.plan import QueryPlan
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchMode, SearchRequest, SearchResponse
from ragcorp.domain.search.rollout import Arm


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningRollout:
    """Chooses the profile of mode auto, query by query. Requests that choose a profile themselves are in no arm."""

    rollout: Rollout
    observers: RolloutObservers
    shadow: ShadowSearch

    def arm_of(self, request: SearchRequest, *, principal: Principal) -> Arm | None:
        """Return the arm that made the cursor, even if the share changed since; else the query's arm."""
        if request.mode is not SearchMode.AUTO or request.profile is not None or request.by_keywords:
            return None
        if request.cursor is not None:
            for arm in Arm:
                if page_cursor.belongs_to(self.applied(arm, request)):
                    return arm
        return self.rollout.arm_of(workspace=principal.workspace, query=request.query)

    def applied(self, arm: Arm, request: SearchRequest) -> SearchRequest:
        return self.rollout.profile(arm).applied_to(request)

    def served(self, arm: Arm, request: SearchRequest, plan: QueryPlan, response: SearchResponse) -> SearchResponse:
        """Report the arm, start a shadow after a first page of the old arm, and add the arm to an explanation."""
        self.observers.arm_served(arm)
        if self.rollout.shadow and arm is Arm.OLD and request.cursor is None:
            self.shadow.start(plan, response, candidate=self.applied(Arm.NEW, request))
        if response.explanation is None:
            return response
        return replace(response, explanation={**response.explanation, "arm": arm.value})
