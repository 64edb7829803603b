"""The port FolderRecords over PostgreSQL. Each call is one transaction; it locks rows in the order of external_id."""

from collections.abc import Collection, Sequence

from ragcorp.domain.filters import MAX_FILTER_VALUES, Condition
from ragcorp.domain.ports.folders import FileClaim, FileRecord, FileStamp, RecordedFile
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.documents.reads import hide, lock_with_parts
from ragcorp.infrastructure.postgres.visibility.predicates import Predicate
from ragcorp.infrastructure.postgres.workspaces.statistics_keeper import StatisticsKeeper

OF_TREE = """
    f.workspace = %(workspace)s AND f.folder = %(folder)s AND f.external_id = %(prefix)s || f.relative
"""

KNOWN = f"""
    SELECT f.relative, f.external_id, f.size, f.mtime_ns, f.ctime_ns, f.settled, f.described,
           d.id IS NOT NULL, d.id IS NOT NULL AND d.content_hash = ANY(f.content_hashes),
           d.id IS NOT NULL AND f.content_hashes <> '{{}}' AND d.content_hash <> ALL(f.content_hashes)
    FROM folder_files f
    LEFT JOIN documents d
      ON d.workspace = f.workspace AND d.external_id = f.external_id AND d.deleted_at IS NULL
    WHERE {OF_TREE}
"""

BELOW = """
    AND f.external_id IN (
        SELECT below.external_id
        FROM unnest(%(places)s::text[]) AS place (id)
        CROSS JOIN LATERAL (
            SELECT o.external_id FROM folder_files o
            WHERE o.workspace = %(workspace)s AND o.folder = %(folder)s AND o.external_id = place.id
            UNION ALL
            SELECT o.external_id FROM folder_files o
            WHERE o.workspace = %(workspace)s AND o.folder = %(folder)s
              AND o.external_id > place.id || '/' AND o.external_id < place.id || '0'
        ) AS below)
"""
"""In collation C, '0' comes right after '/': two short ranges of the key for each path."""

COUNT = f"SELECT count(*) FROM folder_files f WHERE {OF_TREE}"

OF_OTHERS = """
    SELECT DISTINCT external_id FROM folder_files
    WHERE workspace = %(workspace)s AND external_id = ANY(%(external_ids)s) AND folder <> %(folder)s
      AND cardinality(content_hashes) > 0
"""

CLAIM = """
    INSERT INTO folder_files AS f (workspace, folder, external_id, relative, content_hashes)
    SELECT %(workspace)s, %(folder)s, claim.external_id, claim.relative,
           CASE WHEN theirs.stored THEN '{}' ELSE ARRAY[claim.content_hash] END
    FROM unnest(%(external_ids)s::text[], %(relatives)s::text[], %(hashes)s::bytea[])
             AS claim (external_id, relative, content_hash)
    CROSS JOIN LATERAL (
        SELECT EXISTS (
                   SELECT FROM documents d
                   WHERE d.workspace = %(workspace)s AND d.external_id = claim.external_id
                     AND d.content_hash = claim.content_hash AND d.deleted_at IS NULL)
               AND NOT EXISTS (
                   SELECT FROM folder_files o
                   WHERE o.workspace = %(workspace)s AND o.external_id = claim.external_id
                     AND claim.content_hash = ANY(o.content_hashes)) AS stored
    ) AS theirs
    ORDER BY claim.external_id
    ON CONFLICT (workspace, folder, external_id) DO UPDATE SET
        relative = excluded.relative, size = NULL, mtime_ns = NULL, ctime_ns = NULL, settled = false,
        content_hashes = CASE WHEN excluded.content_hashes <@ f.content_hashes THEN f.content_hashes
                              ELSE f.content_hashes || excluded.content_hashes END
"""

CONFIRM = """
    UPDATE folder_files f SET
        size = stored.size, mtime_ns = stored.mtime_ns, ctime_ns = stored.ctime_ns, settled = stored.settled,
        described = stored.described,
        content_hashes = CASE WHEN stored.content_hash = ANY(f.content_hashes)
                              THEN ARRAY[stored.content_hash] ELSE '{}' END
    FROM unnest(
             %(external_ids)s::text[], %(hashes)s::bytea[], %(sizes)s::bigint[], %(mtimes)s::bigint[],
             %(ctimes)s::bigint[], %(settled)s::boolean[], %(described)s::bytea[])
             AS stored (external_id, content_hash, size, mtime_ns, ctime_ns, settled, described)
    WHERE f.workspace = %(workspace)s AND f.folder = %(folder)s AND f.external_id = stored.external_id
"""

LOCK_OWNED = """
    SELECT d.external_id
    FROM documents d
    JOIN folder_files f ON f.workspace = d.workspace AND f.external_id = d.external_id
    WHERE d.workspace = %(workspace)s AND f.folder = %(folder)s AND d.id = ANY(%(locked)s)
      AND d.external_id = ANY(%(external_ids)s) AND d.deleted_at IS NULL AND d.content_hash = ANY(f.content_hashes)
    ORDER BY d.external_id
    FOR UPDATE OF d
"""

FORGET = """
    DELETE FROM folder_files
    WHERE workspace = %(workspace)s AND folder = %(folder)s AND external_id = ANY(%(external_ids)s)
"""


class PostgresFolderRecords:
    """Rows of ``folder_files``."""

    def __init__(self, *, database: Database, statistics: StatisticsKeeper | None = None) -> None:
        self._database = database
        self._statistics = statistics

    async def recorded(
        self, folder: bytes, *, prefix: str, principal: Principal, below: Collection[str] | None = None
    ) -> list[RecordedFile]:
        values = _tree(folder, prefix, principal)
        statement = KNOWN
        if below is not None and "" not in below:
            # a name that is not valid text cannot be stored
            values["places"] = [prefix + path for path in sorted(below) if _is_text(path)]
            statement += BELOW

        rows = await self._database.fetch(statement, values, workspace=principal.workspace)
        return [
            RecordedFile(
                relative=relative,
                external_id=external_id,
                stamp=None if size is None else FileStamp(size, mtime_ns, ctime_ns),
                settled=settled,
                described=bytes(described),
                stored=stored,
                owned=owned,
                replaced=replaced,
            )
            for relative, external_id, size, mtime_ns, ctime_ns, settled, described, stored, owned, replaced in (rows)
        ]

    async def count(self, folder: bytes, *, prefix: str, principal: Principal) -> int:
        ((count,),) = await self._database.fetch(COUNT, _tree(folder, prefix, principal), workspace=principal.workspace)
        return int(count)

    async def claim(self, folder: bytes, claims: Sequence[FileClaim], *, principal: Principal) -> frozenset[str]:
        values = {
            "workspace": principal.workspace,
            "folder": folder,
            "external_ids": [claim.external_id for claim in claims],
            "relatives": [claim.relative for claim in claims],
            "hashes": [claim.content_hash for claim in claims],
        }
        async with self._database.transaction(principal.workspace) as connection:
            others = await (await connection.execute(OF_OTHERS, values)).fetchall()
            await connection.execute(CLAIM, values)
        return frozenset(external_id for (external_id,) in others)

    async def confirm(self, folder: bytes, records: Sequence[FileRecord], *, principal: Principal) -> None:
        if not records:
            return
        async with self._database.transaction(principal.workspace) as connection:
            await connection.execute(
                CONFIRM,
                {
                    "workspace": principal.workspace,
                    "folder": folder,
                    "external_ids": [record.external_id for record in records],
                    "hashes": [record.content_hash for record in records],
                    "sizes": [record.stamp.size for record in records],
                    "mtimes": [record.stamp.mtime_ns for record in records],
                    "ctimes": [record.stamp.ctime_ns for record in records],
                    "settled": [record.settled for record in records],
                    "described": [record.described for record in records],
                },
            )

    async def forget(self, folder: bytes, external_ids: Sequence[str], *, principal: Principal) -> frozenset[str]:
        values: dict[str, object] = {"workspace": principal.workspace, "folder": folder}
        values["external_ids"] = list(external_ids)
        async with self._database.transaction(principal.workspace) as connection:
            named = Predicate.of(
                "d.workspace = %(workspace)s AND d.external_id = ANY(%(external_ids)s)",
                workspace=principal.workspace,
                external_ids=list(external_ids),
            )
            values["locked"] = await lock_with_parts(connection, named)
            owned = tuple(row[0] for row in await (await connection.execute(LOCK_OWNED, values)).fetchall())
            for start in range(0, len(owned), MAX_FILTER_VALUES):
                part = Condition(name="external_id", values=owned[start : start + MAX_FILTER_VALUES])
                await hide(connection, DocumentSelection(filters=(part,)), principal=principal)
            await connection.execute(FORGET, values)
        if owned and self._statistics is not None:
            self._statistics.touch(principal.workspace)
        return frozenset(owned)


def _tree(folder: bytes, prefix: str, principal: Principal) -> dict[str, object]:
    return {"workspace": principal.workspace, "folder": folder, "prefix": prefix}


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
