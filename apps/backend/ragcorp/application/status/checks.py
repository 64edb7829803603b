"""The doctor's rules: judges facts about the database, its contents, the network and the disk."""

from collections.abc import Iterator

from ragcorp.domain.diagnosis import Check, Contents, NetworkFacts, ServerFacts

POSTGRESQL = 16
PGVECTOR = (0, 8)

MOST_PASSAGES_UNMARKED = 1000
"""Without its indexes a full-text search takes 1.1 to 1.4 s per term over 5,000 passages; its timeout is 2.5 s."""

MOST_NAMED = 5

MOST_SKEW_SECONDS = 5.0
LITTLE_BYTES = 1024**3
TOO_LITTLE_BYTES = 100 * 1024**2


def server_checks(server: ServerFacts) -> Iterator[Check]:
    if server.version_number >= POSTGRESQL * 10_000:
        yield Check.ok("server version", server.version)
    else:
        yield Check.failed("server version", f"{server.version} is too old.", f"Use PostgreSQL {POSTGRESQL} or newer.")
    wanted = ".".join(map(str, PGVECTOR))
    if server.vector is None:
        yield Check.failed(
            "pgvector",
            "The extension 'vector' is not in this database.",
            "Install pgvector on the server, and run in this database as a superuser: CREATE EXTENSION vector; "
            "then run `ragcorp migrate`.",
        )
    elif tuple(map(int, server.vector.split(".")[:2])) < PGVECTOR:
        yield Check.failed(
            "pgvector",
            f"{server.vector} is too old.",
            f"Install pgvector {wanted} or newer, then run: ALTER EXTENSION vector UPDATE;",
        )
    else:
        yield Check.ok("pgvector", server.vector)
    if server.has_spanish:
        yield Check.ok("text search", "the configuration 'spanish' is there")
    else:
        yield Check.failed(
            "text search",
            "The text search configuration 'spanish' is missing.",
            "Install the server's snowball dictionaries (they belong to every standard PostgreSQL).",
        )


def content_checks(contents: Contents, wanted: tuple[str, int] | None) -> Iterator[Check]:
    """Judge the contents; ``wanted`` is name and width of the configured embedding model, if any."""
    if contents.invalid_indexes:
        yield Check.failed(
            "indexes",
            f"{', '.join(contents.invalid_indexes)} is INVALID: an index build was interrupted.",
            "Run `ragcorp migrate`: it rebuilds them.",
        )
    else:
        yield Check.ok("indexes", "all valid")
    yield _search_statistics(contents)
    yield _stored_vectors(contents, wanted)
    counts = f"{contents.documents:,} documents, {contents.chunks:,} passages, {contents.pending:,} without a vector"
    if contents.failed:
        yield Check.warning(
            "contents",
            f"{counts}, {contents.failed:,} of them given up",
            "Run `ragcorp embed --pending`: it tries them again and says what is wrong.",
        )
    else:
        yield Check.ok("contents", counts)


def _search_statistics(contents: Contents) -> Check:
    name, stale = "search statistics", contents.stale_statistics
    if not stale:
        return Check.ok(name, "of the passages as they are")
    more = f" and {len(stale) - MOST_NAMED:,} more" if len(stale) > MOST_NAMED else ""
    return Check.warning(
        name,
        f"Of an earlier state of the passages, in {', '.join(stale[:MOST_NAMED])}{more}: ranking and the correction of "
        "misspelt words lag behind.",
        "Search there by words: the service refreshes them in the background, as does an open library.",
    )


def _stored_vectors(contents: Contents, wanted: tuple[str, int] | None) -> Check:
    name, stored = "stored vectors", contents.model
    if stored is None:
        return Check.skipped(name, "the database is prepared for no model")
    model = f"{stored.name}, {stored.dimensions} dimensions"
    if wanted is None:
        return Check.skipped(name, f"of {model}; EMBEDDING_PROVIDER is none")
    if (stored.name, stored.dimensions) == wanted:
        return Check.ok(name, model if stored.has_vectors else f"none yet; prepared for {model}")
    configured = f"the settings name {wanted[0]}, {wanted[1]} dimensions."
    if stored.has_vectors:
        return Check.failed(
            name,
            f"They are of {model}; {configured}",
            "Set EMBEDDING_MODEL and EMBEDDING_DIM back, or run `ragcorp reembed --model NAME --dimensions N`.",
        )
    return Check.failed(
        name,
        f"The database is prepared for {model}; {configured}",
        "Run `ragcorp migrate`: there are no vectors yet, so it prepares the database for the new model.",
    )


def key_check(facts: NetworkFacts, *, secret: str) -> Check:
    """Judge the keys; ``secret`` names the secret under which they are stored."""
    if not facts.keys:
        return Check.ok(
            "keys", "none: whoever is on this machine may do everything, and nobody else reaches the service"
        )
    counts = f"{facts.active_keys:,} of {facts.keys:,} in force, stored under {secret}"
    if facts.active_keys:
        return Check.ok("keys", f"{counts}; a key made under another secret is unknown")
    return Check.warning("keys", f"{counts}: no one can call the service.", "Make one with `ragcorp keys create`.")


def listening_check(facts: NetworkFacts, *, loopback: bool) -> Check:
    """Judge the address of the service."""
    if loopback:
        return Check.ok("listening", "on loopback: only this machine reaches the service")
    if not facts.keys:
        return Check.failed(
            "listening",
            "HOST is no loopback address, and there is no key: the service refuses to start.",
            "Make a key with `ragcorp keys create`, or set HOST=127.0.0.1.",
        )
    return Check.ok("listening", "on the network, without TLS; each request needs a key")


def workspace_check(facts: NetworkFacts) -> Check:
    """Judge row-level security."""
    name = "row-level security"
    if facts.unprotected and facts.row_level_security:
        return Check.failed(
            name,
            f"It is off for {', '.join(facts.unprotected)}.",
            "Run `ragcorp migrate --row-level-security on`; for a table without a policy, as the owner: "
            "CREATE POLICY ..., ALTER TABLE ... ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;",
        )
    if facts.sees_every_row:
        return Check.failed(
            name,
            "The role of DATABASE_URL passes over it: conditions of the statements alone keep workspaces apart, and "
            "the service refuses to listen on a network.",
            "Use a role that is neither a superuser nor has BYPASSRLS; docs/operations.md names its rights.",
        )
    if not facts.row_level_security:
        return Check.warning(
            name,
            "It was turned off: conditions of the statements alone keep workspaces apart.",
            "Where a superuser can mark functions LEAKPROOF: `ragcorp migrate --row-level-security on`.",
        )
    if not facts.unmarked:
        return Check.ok(name, "in force for the role of the service")
    many = facts.passages > MOST_PASSAGES_UNMARKED
    effect = "searches are slow, and fail (503)." if many else "searches are slow, and fail with more passages (503)."
    return (Check.failed if many else Check.warning)(
        name,
        f"In force, but conditions under it cannot use their indexes: {effect}",
        f"Let a superuser run in this database: {'; '.join(facts.unmarked)}; or, without a superuser: "
        "`ragcorp migrate --row-level-security off`.",
    )


def clock_check(facts: NetworkFacts) -> Check:
    """Judge the difference between the database's clock and this machine's."""
    skew = f"the database's is {abs(facts.skew_seconds):.1f} s {'ahead' if facts.skew_seconds > 0 else 'behind'}"
    if abs(facts.skew_seconds) <= MOST_SKEW_SECONDS:
        return Check.ok("clock", skew)
    return Check.warning(
        "clock",
        f"{skew}: keys expire, and recent things count, at other times than meant.",
        "Let both machines take their time from the same source (NTP).",
    )


def disk_check(free_bytes: int) -> Check:
    """Judge the free space of the data folder's disk."""
    free = f"{free_bytes / 1024**3:,.1f} GB free for the data folder"
    remedy = "Free space, or move the data folder (RAGCORP_DATA_DIR): a database without room refuses writes."
    if free_bytes < TOO_LITTLE_BYTES:
        return Check.failed("disk", free, remedy)
    return Check.warning("disk", free, remedy) if free_bytes < LITTLE_BYTES else Check.ok("disk", free)
