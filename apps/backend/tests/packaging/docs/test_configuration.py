"""docs/configuration.md says of every setting what the code does."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from ragcorp.main.settings.schema import Settings

DOCUMENT = Path(__file__).resolve().parents[5] / "docs" / "configuration.md"


def row(name: str) -> str:
    info = Settings.model_fields[name]
    default = info.default
    shown = "" if default is None or isinstance(default, SecretStr) else str(default)
    if isinstance(default, bool):
        shown = str(default).lower()
    bounds = [
        f"{sign} {value}"
        for attribute, sign in (("ge", ">="), ("gt", ">"), ("le", "<="))
        for item in info.metadata
        if (value := getattr(item, attribute, None)) is not None
    ]
    return f"| `{name.upper()}` | {shown} | {', '.join(bounds)} | {info.description} |"


def test_every_setting_is_documented_with_its_default_bounds_and_meaning() -> None:
    documented = DOCUMENT.read_text(encoding="utf-8").splitlines()
    missing = [row(name) for name in Settings.model_fields if row(name) not in documented]
    assert not missing, "add or correct in docs/configuration.md:\n" + "\n".join(missing)


def test_no_setting_is_documented_that_does_not_exist() -> None:
    names = {
        line.split("`")[1].lower()
        for line in DOCUMENT.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    }
    assert names == set(Settings.model_fields)
