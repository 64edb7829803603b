"""The built page that is committed: small, whole, and without anything from elsewhere or inline."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from ragcorp.interface.http.system.page_routes import BUILT, MEDIA_TYPES
from support.fixtures.http import MakeApp, Serve

pytestmark = pytest.mark.anyio

FIRST_LOAD = 150_000
"""Bytes of bodies, compressed."""

ADDRESSED = frozenset({"src", "href", "action", "formaction", "data", "poster", "srcset", "content", "manifest"})
IMPORTED = re.compile(r"(?:from|import)\s*\(?\s*[\"'`]\./([\w.-]+)[\"'`]")
LAZY = re.compile(r"import\s*\(")
NAMES = ("http://www.w3.org/", "https://github.com/markedjs/marked.")
"""Namespaces, and whom an error of the Markdown parser wants to be told of it: nobody asks there."""


class Page(HTMLParser):
    """What a page's markup holds of elements, and of text inside of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.inline = ""
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in ("script", "style"):
            self.inline += data.strip()

    def files(self) -> list[str]:
        named = [attributes.get(name, "") for _, attributes in self.elements for name in ("src", "href")]
        return [address.removeprefix("./assets/") for address in named if address]


@pytest.fixture(scope="module")
def text() -> str:
    return (BUILT / "index.html").read_text(encoding="utf-8")


def built_files() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((BUILT / "assets").iterdir())}


def test_its_addresses_are_relative(text: str) -> None:
    assert "//" not in text
    page = Page(text)
    for tag, attributes in page.elements:
        assert tag not in ("base", "iframe", "object", "embed", "form"), tag
        for name in ADDRESSED & attributes.keys():
            if tag == "meta":
                assert "/" not in attributes[name]
            else:
                assert re.fullmatch(r"\./assets/[\w.-]+", attributes[name]), (tag, name)
    assert {Path(name).suffix for name in page.files()} >= {".js", ".css"}


def test_nothing_is_inline(text: str) -> None:
    page = Page(text)
    assert page.inline == ""
    for tag, attributes in page.elements:
        assert tag != "style"
        assert tag != "script" or attributes.get("src"), "a script without a file"
        assert [name for name in attributes if name == "style" or name.startswith("on")] == [], tag


def test_nothing_comes_from_elsewhere() -> None:
    for name, content in built_files().items():
        places = re.findall(r"(?:https?:|wss?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s\"'`]*", content)
        assert [place for place in places if not place.startswith(NAMES)] == [], name
        if name.endswith(".css"):
            assert "@import" not in content
            assert re.findall(r"url\(\s*[\"']?(?!data:|\./)[^)]*", content) == [], name


def test_no_source_is_shipped(text: str) -> None:
    files = built_files()
    assert {Path(name).suffix for name in files} <= MEDIA_TYPES.keys()
    assert {path.name for path in BUILT.iterdir()} <= {"index.html", "assets", "manifest.json"}
    for name, content in files.items():
        assert "sourceMappingURL" not in content, name


def test_no_file_is_left_over(text: str) -> None:
    files = built_files()
    for name in files:
        assert name in text or any(name in content for other, content in files.items() if other != name), name
        assert re.search(r"-[\w-]{8,}\.\w+$", name), "kept for a year, so its name holds a hash"


async def test_the_first_load_is_small(make_app: MakeApp, serve: Serve, text: str) -> None:
    files = built_files()
    wanted, first = Page(text).files(), []
    while wanted:
        name = wanted.pop()
        first.append(name)
        eager = LAZY.sub("", files[name]) if name.endswith(".js") else ""
        wanted += [item for item in IMPORTED.findall(eager) if item not in (*first, *wanted)]
    assert len(first) >= 2
    async with serve(make_app()) as url, httpx.AsyncClient(base_url=url) as client:
        loaded = 0
        for path in ("/", *(f"/assets/{name}" for name in first)):
            answer = await client.get(path, headers={"Accept-Encoding": "gzip"})
            assert answer.status_code == 200
            loaded += answer.num_bytes_downloaded
    assert 1_000 < loaded < FIRST_LOAD
