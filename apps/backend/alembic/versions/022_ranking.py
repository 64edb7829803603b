"""The plan of BM25 and the terms of a query at a fraction of their former time, with the same results (ADR-025)."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from alembic import op

revision = "022"
down_revision = "021"
branch_labels = None
depends_on = None

HERE = Path(__file__)
DEFINITIONS = HERE.with_suffix(".sql")
FORMER_ANALYSIS = HERE.with_name("004_text_analysis.py")
FORMER_TERMS = HERE.with_name("010_bounded_corrections.py")
FORMER_SQL = (HERE.with_name("005_bm25_postings.sql"), HERE.with_name("005_bm25_plan.sql"))

FUNCTION = re.compile(r"^CREATE FUNCTION (\w+)\(.*?^END(?: \$\$)?;", re.DOTALL | re.MULTILINE)
RESTORED = ("bm25_bounds", "bm25_cut", "bm25_guess", "bm25_plan")


def upgrade() -> None:
    # query_words of before remains for identifiers and other compounds
    compounds = _query_words().replace("public.query_words", "public.query_compounds", 1)
    _execute(compounds)
    _execute(DEFINITIONS.read_text(encoding="utf-8"))


def downgrade() -> None:
    _execute("DROP FUNCTION languages_of_query(text, text)")
    former = "".join(path.read_text(encoding="utf-8") for path in FORMER_SQL)
    definitions = {match[1]: match[0] for match in FUNCTION.finditer(former)}
    for definition in (_query_words(), *(definitions[name] for name in RESTORED)):
        _execute(definition.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1))
    _execute(runpy.run_path(str(FORMER_TERMS))["QUERY_TERMS"])
    _execute("DROP FUNCTION bm25_bound(float8, float8)")
    _execute("DROP FUNCTION public.query_compounds(text, text)")


def _query_words() -> str:
    return str(runpy.run_path(str(FORMER_ANALYSIS))["QUERY_WORDS"])


def _execute(statements: str) -> None:
    # to the driver a percent sign is a parameter
    op.get_bind().exec_driver_sql(statements.replace("%", "%%"))
