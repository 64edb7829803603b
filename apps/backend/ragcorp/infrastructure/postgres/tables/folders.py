"""The table of what was stored from folders, as ``tables`` has those of documents."""

from __future__ import annotations

from sqlalchemy import ARRAY, BigInteger, Boolean, Column, Index, LargeBinary, String, Table, Text, text

from ragcorp.infrastructure.postgres.tables.documents import metadata

folder_files = Table(
    "folder_files",
    metadata,
    Column("workspace", Text, primary_key=True),
    # the digest of the folder's path: a path may be longer than an index takes, and is the host's own
    Column("folder", LargeBinary, primary_key=True),
    Column("external_id", String(collation="C"), primary_key=True),
    Column("relative", String(collation="C"), nullable=False),
    # of the document as it was stored from here; while it is being stored, also as it will be; none: it is not ours
    Column("content_hashes", ARRAY(LargeBinary), nullable=False),
    Column("size", BigInteger),
    Column("mtime_ns", BigInteger),
    Column("ctime_ns", BigInteger),
    Column("settled", Boolean, nullable=False, server_default=text("false")),
    Column("described", LargeBinary, nullable=False, server_default=""),
)
Index("ix_folder_files_external_id", folder_files.c.workspace, folder_files.c.external_id)
Index("ix_folder_files_relative", folder_files.c.workspace, folder_files.c.relative, folder_files.c.folder)
