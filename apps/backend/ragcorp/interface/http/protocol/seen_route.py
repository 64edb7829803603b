"""Routes outside the OpenAPI description."""

from starlette.routing import Match, Route
from starlette.types import Scope


class SeenRoute(Route):
    """Puts itself into the scope like the framework's routes, so that metrics count by it."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child = super().matches(scope)
        return match, {**child, "route": self} if match is Match.FULL else child
