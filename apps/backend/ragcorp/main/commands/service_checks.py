"""The doctor's checks of the network and the disk."""

import shutil
from collections.abc import Iterator

from ragcorp.application.status import checks
from ragcorp.domain.diagnosis import Check, NetworkFacts
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.main.settings.addresses import address_of, is_loopback
from ragcorp.main.settings.schema import Settings


def service_checks(facts: NetworkFacts, settings: Settings) -> Iterator[Check]:
    own_secret = settings.keys_secret.get_secret_value()
    yield checks.key_check(facts, secret="KEYS_SECRET" if own_secret else "the database's own secret")
    try:
        _, address = address_of(settings.host)
    except ConfigurationError as error:
        yield Check.error("listening", error)
    else:
        yield checks.listening_check(facts, loopback=is_loopback(address))
    yield checks.workspace_check(facts)
    yield checks.clock_check(facts)


def disk_check(settings: Settings) -> Check:
    """Check the disk of the data folder, or of its nearest existing parent."""
    folder = settings.data_dir
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        return checks.disk_check(shutil.disk_usage(folder).free)
    except OSError as error:
        return Check.warning(
            "disk",
            f"The free space of the data folder cannot be read: {type(error).__name__}.",
            "Check that this user may read the folder.",
        )
