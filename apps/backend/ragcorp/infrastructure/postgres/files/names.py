"""The SQL that matches files with documents: by path, by external_id, by the ingested folder."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from urllib.parse import quote

from ragcorp.domain.ports.file_search import HostPlace

PlaceOf = Callable[[str], HostPlace | None]
"""Maps ``root/relative`` to its place on this machine."""

GIVEN = "names text[], own integer, sure integer, place text, folders integer[]"
"""Columns of ``given`` used here. The first ``own`` of the ``names`` are the file's; the first ``sure`` certainly."""

_ODD = re.compile(r"\\|/\.?/|^\.?/|^file:", re.ASCII | re.IGNORECASE)
_SCHEME = re.compile(r"^file:(//localhost(?=/))?", re.ASCII | re.IGNORECASE)


def matched(*, visible: str, passing: str, lines_kept: str) -> str:
    """Return the common table expressions up to ``matched``: the documents of each of ``given``, possibly repeated.

    Columns: number, id, external_id, lines_kept, readable, passes, own, sure. ``own``: it has the file's bare path;
    ``sure``: it is certainly the file's. Other matches (that path below any root, that external_id, or deleted) only
    withhold the file. Values: those of the conditions over ``documents d``, ``workspace``, and ``folders``, an array
    of objects.
    """
    documents = f"""d.id, d.external_id, {lines_kept} AS lines_kept,
                   ({visible}) IS TRUE AS readable, ({passing}) IS TRUE AS passes"""
    columns = "id, external_id, lines_kept, readable, passes"
    # ranges and ORDER BY: a plan made over few rows cannot tell apart the indexes that begin with workspace
    return f"""
        spelt AS MATERIALIZED (
            SELECT g.number, name, nth <= g.own AS own, nth <= g.sure AS sure
            FROM given g CROSS JOIN unnest(g.names) WITH ORDINALITY AS n (name, nth)),
        named AS MATERIALIZED (
            SELECT names.name, {documents}, d.by_path, d.by_path AND d.deleted_at IS NULL AS may_be_own,
                   NOT d.by_path AND right(d.path, length(d.external_id) + 1) = '/' || d.external_id AS elsewhere
            FROM (SELECT DISTINCT name, md5(name)::uuid AS key FROM spelt) AS names
            CROSS JOIN LATERAL (
                (SELECT *, true AS by_path FROM documents
                 WHERE workspace = %(workspace)s AND path_key(path) BETWEEN key AND key
                 ORDER BY path_key(path) OFFSET 0)
                UNION ALL
                (SELECT *, false AS by_path FROM documents
                 WHERE workspace = %(workspace)s AND path_key(external_id) BETWEEN key AND key
                   AND path IS DISTINCT FROM external_id
                 ORDER BY path_key(external_id) OFFSET 0)) AS d),
        ingested AS MATERIALIZED (
            SELECT f.number, decode(f.key, 'hex') AS key, f.skipped
            FROM jsonb_to_recordset(%(folders)s::jsonb) AS f (number integer, key text, skipped integer)
            CROSS JOIN LATERAL (
                SELECT FROM folder_files
                WHERE workspace = %(workspace)s AND folder BETWEEN decode(f.key, 'hex') AND decode(f.key, 'hex')
                ORDER BY folder LIMIT 1) AS any_file),
        recorded AS MATERIALIZED (
            SELECT g.number, {documents}, d.deleted_at IS NULL AS may_be_own,
                   d.content_hash = ANY (f.content_hashes) AS as_ingested
            FROM given g
            CROSS JOIN unnest(g.folders) AS folder
            JOIN ingested i ON i.number = folder
            CROSS JOIN LATERAL (
                SELECT external_id, content_hashes FROM folder_files
                WHERE workspace = %(workspace)s
                  AND (relative, folder) >= (substr(g.place, i.skipped + 1), i.key)
                  AND (relative, folder) <= (substr(g.place, i.skipped + 1), i.key)
                ORDER BY relative, folder OFFSET 0) AS f
            CROSS JOIN LATERAL (
                SELECT * FROM documents
                WHERE workspace = %(workspace)s AND external_id BETWEEN f.external_id AND f.external_id
                ORDER BY external_id OFFSET 0) AS d),
        matched AS MATERIALIZED (
            SELECT s.number, {columns}, s.own AND may_be_own AS own, s.sure AND may_be_own AS sure
            FROM spelt s JOIN named USING (name)
            WHERE by_path OR s.sure OR elsewhere IS NOT TRUE
            UNION ALL
            SELECT number, {columns}, may_be_own, may_be_own AND as_ingested FROM recorded)"""


class FileValues:
    """Collects the values of files for ``matched``. ``folders``: the distinct folders above the files."""

    def __init__(self, place_of: PlaceOf) -> None:
        self._place_of = place_of
        self._numbers: dict[tuple[bytes, int], int] = {}

    @property
    def folders(self) -> list[dict[str, object]]:
        return [
            {"number": number, "key": key.hex(), "skipped": skipped} for (key, skipped), number in self._numbers.items()
        ]

    def add(self, names: Sequence[str]) -> dict[str, object]:
        """Return the columns ``GIVEN`` of a file whose first name is ``root/relative``.

        The root of a stored relative path is unknown: a hidden document of that path below any root withholds the file.
        """
        place = self._place_of(names[0]) if names else None
        host = () if place is None else (place.path, _quoted(place.path))
        sure = _plain(*names[:1], *host)
        own = dict.fromkeys((*sure, *_plain(*names[1:])))
        below_any_root = _plain(*(name.partition("/")[2] for name in names[:1]))
        return {
            "names": list(dict.fromkeys((*own, *below_any_root))),
            "own": len(own),
            "sure": len(sure),
            "place": "" if place is None else place.path,
            "folders": [self._number(*folder) for folder in (() if place is None else place.folders)],
        }

    def _number(self, key: bytes, skipped: int) -> int:
        return self._numbers.setdefault((key, skipped), len(self._numbers))


def _quoted(path: str) -> str:
    folder, separator, name = path.rpartition("/")
    return f"{_quoted_folder(folder)}{separator}{quote(name)}"


@lru_cache(maxsize=4096)
def _quoted_folder(folder: str) -> str:
    return quote(folder)


def _plain(*names: str) -> list[str]:
    return list(dict.fromkeys(plain for name in names if "\x00" not in name and (plain := plain_path(name))))


def plain_path(path: str) -> str:
    """Return the result of the SQL function of the same name."""
    path = unicodedata.normalize("NFC", path)
    if not _ODD.search(path):
        return path
    collapsed = re.sub(r"/(\.?/)+", "/", _SCHEME.sub("", path.replace("\\", "/")))
    return re.sub(r"^(\.?/)+", "", collapsed)
