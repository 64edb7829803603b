"""Routes that are no operations of the description."""

from __future__ import annotations

from starlette.routing import Match, Route
from starlette.types import Scope


class SeenRoute(Route):
    """A route that the scope knows, as it knows the framework's own: requests are counted by it."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, {**found, "route": self} if match is Match.FULL else found
