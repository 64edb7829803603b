"""The table of files ingested from folders."""

import sqlalchemy as sa

from ragcorp.infrastructure.postgres.tables.columns import flag, metadata, required

folder_files = sa.Table(
    "folder_files",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    # the digest of the folder's path: a path may be too long for an index, and belongs to one host
    sa.Column("folder", sa.LargeBinary, primary_key=True),
    sa.Column("external_id", sa.String(collation="C"), primary_key=True),
    *required(sa.String(collation="C"), "relative"),
    # of the document as stored from here and, during a write, as it will be; empty: stored by someone else
    *required(sa.ARRAY(sa.LargeBinary), "content_hashes"),
    sa.Column("size", sa.BigInteger),
    sa.Column("mtime_ns", sa.BigInteger),
    sa.Column("ctime_ns", sa.BigInteger),
    flag("settled"),
    sa.Column("described", sa.LargeBinary, nullable=False, server_default=""),
)
sa.Index("ix_folder_files_external_id", folder_files.c.workspace, folder_files.c.external_id)
sa.Index("ix_folder_files_relative", folder_files.c.workspace, folder_files.c.relative, folder_files.c.folder)
