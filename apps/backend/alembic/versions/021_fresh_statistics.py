"""Search statistics that show whether they are outdated, and estimates between two counts (ADR-025)."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from alembic import op

revision = "021"
down_revision = "020"
branch_labels = None
depends_on = None

HERE = Path(__file__)
DEFINITIONS = HERE.with_suffix(".sql")
FORMER_UPKEEP = HERE.with_name("005_bm25_upkeep.sql")
FORMER_LEXICON = HERE.with_name("006_lexicon.py")

ESTIMATE_STORED = "SELECT bm25_estimate(id) FROM bm25_workspaces"

FUNCTION = re.compile(r"^CREATE FUNCTION (\w+)\(.*?^END(?: \$\$)?;", re.DOTALL | re.MULTILINE)

REMOVE = """
    DROP TRIGGER bm25_estimate ON bm25_changes;
    DROP FUNCTION bm25_after_change, bm25_estimate, bm25_refresh, bm25_count;
    DROP VIEW search_statistics;
    ALTER TABLE bm25_workspaces DROP COLUMN estimated_chunks;
    ALTER TABLE lexicon_progress DROP COLUMN refreshed_at, DROP COLUMN changed
"""


def upgrade() -> None:
    connection = op.get_bind()
    connection.exec_driver_sql(DEFINITIONS.read_text(encoding="utf-8"))
    connection.exec_driver_sql(ESTIMATE_STORED)


def downgrade() -> None:
    upkeep = {match[1]: match[0] for match in FUNCTION.finditer(FORMER_UPKEEP.read_text(encoding="utf-8"))}
    lexicon = runpy.run_path(str(FORMER_LEXICON))["REFRESH_LEXICON"]
    _restore(upkeep["bm25_needs_refresh"])
    op.get_bind().exec_driver_sql(REMOVE)
    for definition in (upkeep["bm25_refresh"], upkeep["bm25_after_truncate"], lexicon):
        _restore(definition)


def _restore(definition: str) -> None:
    op.get_bind().exec_driver_sql(definition.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1))
