"""The caller without a credential: the local user, in RAGCORP_WORKSPACE."""

from ragcorp.domain.keys import EVERY_SCOPE, Caller
from ragcorp.domain.principal import Principal
from ragcorp.main.settings.schema import Settings


def local_principal(settings: Settings) -> Principal:
    return Principal(workspace=settings.ragcorp_workspace)


def local_caller(settings: Settings) -> Caller:
    return Caller(principal=local_principal(settings), scopes=EVERY_SCOPE)
