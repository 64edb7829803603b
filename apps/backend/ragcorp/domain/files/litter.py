"""Names of files that programs and systems leave in folders; none is the user's content."""

_LOCKS = ("~$", ".~lock.")
_OF_SYSTEMS = frozenset({"thumbs.db", "ehthumbs.db", "desktop.ini", ".ds_store"})


def is_lock_file(name: str) -> bool:
    """Return whether Office or LibreOffice gives this name to the lock of an open file."""
    return name.startswith(_LOCKS)


def is_system_file(name: str) -> bool:
    """Return whether Windows or macOS keeps the settings or thumbnails of a folder under this name, in any case."""
    return name.lower() in _OF_SYSTEMS
