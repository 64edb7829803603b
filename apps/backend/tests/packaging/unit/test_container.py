"""The container file and the compose example keep what they promise. No container engine is needed for that."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[5]
CONTAINER = ROOT / "Containerfile"
COMPOSE = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")
INSTRUCTIONS = [
    tuple(line.split(maxsplit=1))
    for line in re.sub(r"\\\n\s*", " ", CONTAINER.read_text(encoding="utf-8")).splitlines()
    if line and not line.startswith("#")
]


def said(name: str) -> list[str]:
    return [value for instruction, value in INSTRUCTIONS if instruction == name]


def last_stage() -> list[tuple[str, ...]]:
    begins = max(n for n, (instruction, _) in enumerate(INSTRUCTIONS) if instruction == "FROM")
    return INSTRUCTIONS[begins:]


def test_the_base_is_pinned_and_the_build_stays_behind() -> None:
    assert len(said("FROM")) == 2
    for base in said("FROM"):
        assert re.match(r"python:\d+\.\d+\.\d+-slim-[a-z]+\b", base), base
    assert ("COPY", "--from=build /opt/ragcorp /opt/ragcorp") in last_stage()
    assert "--require-hashes" in CONTAINER.read_text(encoding="utf-8")


def test_it_runs_as_nobody_and_writes_to_its_volume_only() -> None:
    names = [instruction for instruction, _ in last_stage()]
    (user,) = (value for instruction, value in last_stage() if instruction == "USER")
    assert int(user.split(":")[0]) > 0
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert said("VOLUME") == ["/data"]
    assert "RAGCORP_DATA_DIR=/data" in " ".join(said("ENV"))
    assert len(said("HEALTHCHECK")) == 1


def test_no_secret_is_in_it() -> None:
    assert said("ARG") == []
    assert not re.search(r"(?i)(password|secret|token|api_key)\s*=", " ".join(said("ENV")))
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    copied = {part for value in said("COPY") if "--from" not in value for part in value.split()[:-1]}
    allowed = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert all(any(path == item or item.startswith(f"{path}/") for item in allowed) for path in copied), copied


@pytest.mark.parametrize(
    "line", ["read_only: true", "cap_drop: [ALL]", 'security_opt: ["no-new-privileges:true"]', "- data:/data", "tmpfs:"]
)
def test_the_example_gives_no_more_than_is_needed(line: str) -> None:
    assert line in COMPOSE


def test_hadolint_finds_nothing() -> None:
    program = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([program, CONTAINER], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout
