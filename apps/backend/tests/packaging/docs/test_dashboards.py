"""The dashboard and the alerts name metrics that there are, and the dashboard shows every one of ours."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ragcorp.application.limits.slot_limiter import SlotLimiter
from ragcorp.interface.http.monitoring.metrics import POOL_COUNTERS, POOL_GAUGES, HttpMetrics, ServiceState

DOCS = Path(__file__).resolve().parents[5] / "docs"
DASHBOARD = DOCS / "grafana" / "ragcorp.json"
ALERTS = DOCS / "prometheus" / "alerts.yml"
FUNCTIONS = {"sum", "rate", "by", "histogram_quantile", "le", "label_values", "increase", "time", "absent", "or"}
OF_PROMETHEUS = {"up"}


@pytest.fixture(scope="module")
def families() -> dict[str, str]:
    """Families by the name that a query uses, with their types."""
    metrics = HttpMetrics()
    metrics.watch(
        ServiceState(
            breakers=lambda: {"dense": "closed"},
            build=lambda: {"version": "1", "python": "3", "schema": "1"},
            schema=lambda: (True, "1"),
        ),
        admission=SlotLimiter(slots=1),
    )
    text = metrics.exposition(backlog=(0, 0), pool=dict.fromkeys((*POOL_GAUGES, *POOL_COUNTERS), 1)).decode()
    results = {}
    for family in text_string_to_metric_families(text):
        if not family.name.endswith("_created"):
            results[family.name + ("_total" if family.type == "counter" else "")] = family.type
    return results


def panels() -> list[dict[str, Any]]:
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def named_in(expression: str) -> set[str]:
    """Return the metrics of an expression: words outside of selectors, groups and strings."""
    bare = re.sub(r"\{[^}]*\}|\[[^]]*\]|\"[^\"]*\"|by \([^)]*\)", " ", expression)
    return {re.sub(r"_(bucket|count|sum)$", "", word) for word in re.findall(r"[a-z_][a-z_0-9]*", bare)} - FUNCTIONS


def expressions_of_alerts() -> list[str]:
    return re.findall(r"^\s+expr: (.+)$", ALERTS.read_text(), re.MULTILINE)


def test_every_metric_of_the_dashboard_exists_and_every_one_of_ours_is_shown(families: dict[str, str]) -> None:
    named = {name for panel in panels() for target in panel["targets"] for name in named_in(target["expr"])}
    assert named - families.keys() == set()
    assert families.keys() - named == set()


def test_counters_are_rated_and_gauges_are_not(families: dict[str, str]) -> None:
    for panel in panels():
        for target in panel["targets"]:
            for name in named_in(target["expr"]):
                rated = re.search(rf"rate\({name}(_bucket)?\{{", target["expr"]) is not None
                assert rated == (families[name] in {"counter", "histogram"}), (panel["title"], name)


def test_every_metric_of_the_alerts_exists(families: dict[str, str]) -> None:
    expressions = expressions_of_alerts()
    assert len(expressions) == ALERTS.read_text().count("- alert: ")
    for expression in expressions:
        assert named_in(expression), expression
        assert named_in(expression) <= families.keys() | OF_PROMETHEUS, expression


def test_there_is_an_alert_when_there_are_no_metrics() -> None:
    """Without a database for long no key is known, and the scrape is refused: what compares a value is silent then."""
    assert any("up{" in expression and "absent(ready)" in expression for expression in expressions_of_alerts())


def test_the_dashboard_can_be_imported() -> None:
    board = json.loads(DASHBOARD.read_text())
    assert {"title", "uid", "schemaVersion", "templating", "panels"} <= board.keys()
    variables = {variable["name"]: variable["type"] for variable in board["templating"]["list"]}
    assert variables == {"datasource": "datasource", "job": "query"}
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    for panel in panels():
        assert panel["datasource"]["uid"] == "${datasource}"
        assert all('job=~"$job"' in target["expr"] for target in panel["targets"])


def test_names_and_types_are_prometheus_own(families: dict[str, str]) -> None:
    for name, kind in families.items():
        assert name.endswith("_total") == (kind == "counter"), name
