"""The SQL of neighbours in the syntax tree: callees, callers and entities of the same file."""

from functools import lru_cache

from ragcorp.infrastructure.postgres.structure.statements import (
    BY_PLACE,
    ENTITIES,
    NO_IDENTIFIER,
    REFERENCE,
    SYMBOL,
    bare_names,
    qualified,
)

COMMON = 500
"""A name that more entities have, or call, relates only those of one file."""

CALLERS = 40
"""The nearest entities that call a name; each call is resolved."""

CALLS, CALLED_BY, SAME_FILE = range(3)


@lru_cache(maxsize=64)
def neighbours(passing: str) -> str:
    """Columns: the id of the given entity, the relation, the place, REFERENCE.

    A call resolves to the nearest symbol of its name and language: in the same file, then with the most common folders,
    then with the fewest others. Calls are stored with and without their qualifier: ``close`` counts only without a
    symbol ``session.close``. A caller has no other symbol of the name nearer by file and folders.
    """
    return f"""
        WITH given AS MATERIALIZED (
            SELECT e.id, e.document_id, e.position, e.language, e.calls, {_folders("s.path")} AS folders,
                   ARRAY(SELECT name FROM unnest(e.names) AS name WHERE starts_with(name, 'symbol:')) AS names
            FROM {ENTITIES}
            WHERE e.id = ANY(%(ids)s::bigint[]) AND s.is_code AND {passing}),
        calling AS MATERIALIZED (
            SELECT a.id AS given, {CALLS} AS relation, a.id AS caller, a.document_id, a.language, a.folders, called.name
            FROM given a CROSS JOIN LATERAL unnest(a.calls) AS called (name)
            UNION ALL
            SELECT a.id, {CALLED_BY}, caller.id, caller.document_id, a.language, {_folders("caller.path")}, called.name
            FROM given a
            CROSS JOIN LATERAL ({_callers(passing)}) AS caller
            CROSS JOIN LATERAL unnest(caller.calls) AS called (name)
            WHERE {_last("called.name")} IN (SELECT {_last("name")} FROM unnest(a.names) AS name)),
        defined AS MATERIALIZED (
            SELECT wanted.name, wanted.language, few.*
            FROM (SELECT DISTINCT name, language FROM calling) AS wanted
            CROSS JOIN LATERAL ({_few(_defining("wanted", passing))}) AS few),
        resolved AS (
            SELECT c.given, c.relation, c.caller, c.name, near.id AS definition,
                   rank() OVER (one ORDER BY near.document_id <> c.document_id, shared.folders DESC) AS rank,
                   row_number() OVER (one ORDER BY {_nearness("near", "c", shared="shared.folders")}) AS place,
                   bool_or(strpos(c.name, '.') > 0) OVER (PARTITION BY c.given, c.relation, c.caller, {_last("c.name")})
                       AS is_qualified
            FROM calling c
            CROSS JOIN LATERAL (
                SELECT d.id, d.document_id, d.path, d.external_id, d.position
                FROM defined d
                WHERE d.name = c.name AND d.language = c.language AND d.matches <= {COMMON}
                UNION ALL
                SELECT here.id, here.document_id, here.path, here.external_id, here.position
                FROM ({_defining("c", passing)} AND e.document_id = c.document_id) AS here
                WHERE EXISTS (
                    SELECT FROM defined d WHERE d.name = c.name AND d.language = c.language AND d.matches > {COMMON})
                ) AS near
            CROSS JOIN LATERAL (SELECT {_shared("near.path", "c.folders")} AS folders OFFSET 0) AS shared
            WINDOW one AS (PARTITION BY c.given, c.relation, c.caller, c.name)),
        related AS (
            SELECT DISTINCT given, relation, CASE relation WHEN {CALLS} THEN definition ELSE caller END AS id
            FROM resolved
            WHERE (strpos(name, '.') > 0 OR NOT is_qualified)
              AND CASE relation WHEN {CALLS} THEN place = 1 AND definition <> given
                  ELSE rank = 1 AND definition = given END)
        SELECT neighbour.*
        FROM (
            SELECT given.id AS given, related.relation,
                   row_number() OVER (PARTITION BY given.id, related.relation ORDER BY {_nearness("near", "given")})
                       AS place, {qualified("near", ", ".join(bare_names(REFERENCE)))}
            FROM related
            JOIN given ON given.id = related.given
            JOIN (SELECT {REFERENCE} FROM {ENTITIES}) AS near ON near.id = related.id
            UNION ALL
            SELECT given.id, {SAME_FILE}, sibling.*
            FROM given
            CROSS JOIN LATERAL (
                SELECT row_number() OVER (ORDER BY abs(e.position - given.position), e.position) AS place, {REFERENCE}
                FROM {ENTITIES}
                WHERE e.document_id = given.document_id AND e.id <> given.id AND e.{NO_IDENTIFIER} AND {passing}
                ORDER BY place
                LIMIT %(limit)s) AS sibling) AS neighbour
        WHERE neighbour.place <= %(limit)s
        ORDER BY neighbour.given, neighbour.relation, neighbour.place"""


def _defining(wanted: str, passing: str) -> str:
    return f"""
        SELECT e.id, e.document_id, s.path, d.external_id, e.position
        FROM {ENTITIES}
        WHERE e.names @> ARRAY[{wanted}.name] AND e.{SYMBOL} AND e.language = {wanted}.language
          AND e.workspace = %(workspace)s AND {passing}"""


def _callers(passing: str) -> str:
    """Return the nearest callers of a name of ``a``: in its file, and anywhere if few entities call it."""
    calling = f"""
        SELECT e.id, e.document_id, s.path, d.external_id, e.position, e.calls
        FROM {ENTITIES}
        WHERE e.calls @> ARRAY[wanted.name] AND e.language = a.language AND e.id <> a.id
          AND e.workspace = %(workspace)s AND {passing}"""
    columns = "id, document_id, path, external_id, position, calls"
    return f"""
        SELECT near.*
        FROM (
            SELECT here.* FROM unnest(a.names) AS wanted (name)
            CROSS JOIN LATERAL ({calling} AND e.document_id = a.document_id) AS here
            UNION
            SELECT {columns} FROM unnest(a.names) AS wanted (name)
            CROSS JOIN LATERAL ({_few(calling)}) AS few
            WHERE few.matches <= {COMMON}) AS near
        ORDER BY {_nearness("near", "a")}
        LIMIT {CALLERS}"""


def _few(neighbour: str) -> str:
    return f"SELECT few.*, count(*) OVER () AS matches FROM ({neighbour} LIMIT {COMMON + 1}) AS few"


def _nearness(of: str, to: str, *, shared: str | None = None) -> str:
    others = f"length({of}.path) - length(replace({of}.path, '/', ''))"
    folders = shared or _shared(f"{of}.path", f"{to}.folders")
    return f"{of}.document_id <> {to}.document_id, {folders} DESC, {others}, {qualified(of, BY_PLACE)}"


def _folders(path: str) -> str:
    """Return the folders above a path: ``/``, ``/src/``, ``/src/auth/``."""
    return f"""ARRAY(
        SELECT array_to_string((string_to_array('/' || {path}, '/'))[:depth], '/') || '/'
        FROM generate_series(1, cardinality(string_to_array('/' || {path}, '/')) - 1) AS depth)"""


def _shared(path: str, folders: str) -> str:
    return f"(SELECT count(*) FROM unnest({folders}) AS folder WHERE starts_with('/' || {path}, folder))"


def _last(name: str) -> str:
    return f"substring({name} FROM '[^.:]+$')"
