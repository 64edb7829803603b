"""The table of files ingested from folders."""

import sqlalchemy as sa

from ragcorp.infrastructure.postgres.tables.columns import metadata

folder_files = sa.Table(
    "folder_files",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    # the digest of the folder's path: a path may be longer than an index takes, and is the host's own
    sa.Column("folder", sa.LargeBinary, primary_key=True),
    sa.Column("external_id", sa.String(collation="C"), primary_key=True),
    sa.Column("relative", sa.String(collation="C"), nullable=False),
    # of the document as it was stored from here; while it is being stored, also as it will be; none: it is not ours
    sa.Column("content_hashes", sa.ARRAY(sa.LargeBinary), nullable=False),
    sa.Column("size", sa.BigInteger),
    sa.Column("mtime_ns", sa.BigInteger),
    sa.Column("ctime_ns", sa.BigInteger),
    sa.Column("settled", sa.Boolean, nullable=False, server_default=sa.text("false")),
    sa.Column("described", sa.LargeBinary, nullable=False, server_default=""),
)
sa.Index("ix_folder_files_external_id", folder_files.c.workspace, folder_files.c.external_id)
sa.Index("ix_folder_files_relative", folder_files.c.workspace, folder_files.c.relative, folder_files.c.folder)
