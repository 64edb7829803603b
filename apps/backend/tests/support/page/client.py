"""Writes what the service says of itself to where the page's client is generated from: `make page-client`."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import httpx

from support.processes.command_line import Running

FRONTEND = Path(__file__).resolve().parents[4] / "frontend-stub"
DESCRIPTION = FRONTEND / "openapi.json"


def as_written(description: dict[str, Any]) -> str:
    return json.dumps(description, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="ragcorp-description-"))
    folder.chmod(0o755)  # as root, the database server runs as another user
    running = Running.start("serve", "--port", "0", "--data-dir", str(folder / "data"))
    try:
        url = running.wait_for(r"Listening on (\S+)")[1]
        DESCRIPTION.write_text(as_written(httpx.get(f"{url}/openapi.json").raise_for_status().json()), encoding="utf-8")
    finally:
        running.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
