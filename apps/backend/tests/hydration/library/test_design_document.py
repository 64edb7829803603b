"""The design document's integration test, and its turns and failures, through the library: real database, real model.

Twenty entities in Go and Python: three of auth.go, six that have to do with security, eleven that have not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from functools import partial
from math import sqrt
from typing import Any

import anyio.to_thread
import pytest

from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.hydration import DropReason, Hydration, WarningCode
from ragcorp.infrastructure.openai_compatible.client import Endpoint
from ragcorp.infrastructure.openai_compatible.embedder import OpenAIEmbedder
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.interface.library.rag import Rag
from ragcorp.main.opening.library import make_rag
from ragcorp.main.settings.schema import LOCAL_MODEL, load_settings
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import open_container
from support.models.embedders import TEST_MODEL
from support.models.openai_server import FakeOpenAI, openai_server
from support.retrieval.corpus import OpenRag, degraded

pytestmark = pytest.mark.anyio

FIX = "Fix the authentication bug in auth.go"
DESCRIBED = "Fix the authentication bug in"
"""What of it is embedded: the file that it names is anchored."""

AUTH = {
    "auth.go": """
// ValidateToken checks the signature and the expiry of an access token.
func ValidateToken(token string) (*Claims, error) {
	claims, err := ParseClaims(token)
	if err != nil || claims.Expired() {
		return nil, ErrUnauthenticated
	}
	return claims, nil
}

// CheckPermissions says whether the authenticated user may do this.
func CheckPermissions(claims *Claims, action string) bool {
	return claims.Role == "admin" || claims.Allows(action)
}

// Login verifies the password of a user and returns an access token.
func Login(user, password string) (string, error) {
	if !VerifyPassword(user, password) {
		return "", ErrUnauthenticated
	}
	return SignToken(user)
}
"""
}

SECURITY = {
    "token.go": """
// SignToken signs an access token for an authenticated user.
func SignToken(user string) (string, error) {
	return jwt.Sign(user, secret)
}

// ParseClaims reads the claims of an access token and checks who signed it.
func ParseClaims(token string) (*Claims, error) {
	return jwt.Parse(token, secret)
}
""",
    "password.py": '''
def hash_password(password, salt):
    """Hash a user's password for authentication."""
    return scrypt(password, salt=salt)


def verify_password(user, password):
    """Say whether the user's login password is right."""
    return compare_digest(user.password_hash, hash_password(password, user.salt))
''',
    "session.py": '''
def open_session(user):
    """Open the session of a user who has logged in."""
    return sessions.put(new_session_id(), user)


def revoke_session(session_id):
    """Log a user out: the session's access token is no longer valid."""
    sessions.remove(session_id)
''',
}

OTHERS = {
    "menu.go": """
// CookSoup boils vegetables with salt for the canteen's lunch.
func CookSoup(vegetables []string) Soup {
	return Boil(vegetables, 40)
}

// PrintMenu prints the dishes of the week.
func PrintMenu(dishes []string) {
	for _, dish := range dishes {
		fmt.Println(dish)
	}
}
""",
    "weather.py": '''
def average_rainfall(months):
    """Return the mean rainfall in millimetres."""
    return sum(months) / len(months)


def wind_chill(celsius, wind):
    """Return the felt temperature."""
    return 13.12 + 0.6215 * celsius - 11.37 * wind ** 0.16


def sunrise_of(latitude, day):
    """Return the hour of sunrise."""
    return 12 - day_length(latitude, day) / 2
''',
    "image.go": """
// ResizeImage scales a picture to a width.
func ResizeImage(picture Picture, width int) Picture {
	return picture.Scale(width)
}

// RotateImage turns a picture by a right angle.
func RotateImage(picture Picture) Picture {
	return picture.Turn(90)
}
""",
    "invoice.py": '''
def invoice_total(lines):
    """Add up an invoice with its taxes."""
    return sum(line.price * line.quantity * 1.21 for line in lines)


def due_date(issued, days):
    """Return the day by which an invoice is to be paid."""
    return issued + timedelta(days=days)
''',
    "geometry.py": '''
def circle_area(radius):
    """Return the area of a circle."""
    return 3.14159 * radius ** 2


def triangle_area(base, height):
    """Return the area of a triangle."""
    return base * height / 2
''',
}

FILES = AUTH | SECURITY | OTHERS
ANCHORS = ["auth.go::ValidateToken", "auth.go::CheckPermissions", "auth.go::Login"]


def source(path: str, text: str) -> bytes:
    """Return a file's text; those in Go name their package in a line that belongs to the file itself."""
    return (f"package app\n{text}" if path.endswith(".go") else text.lstrip("\n")).encode()


async def fill(rag: Rag) -> None:
    for path, text in FILES.items():
        await rag.ingest_bytes(path, source(path, text), filename=path)
    assert (await rag.embed_pending()).pending == 0


def keys(hydration: Hydration) -> list[str]:
    return [item.planned.entity.key for item in hydration.entities]


def by_reason(hydration: Hydration, reason: str) -> list[str]:
    return [
        item.planned.entity.key
        for item in hydration.entities
        if any(told.startswith(reason) for told in item.planned.reasons)
    ]


def functions(found: list[str]) -> list[str]:
    """Return the entities without those of whole files, which hold a package's name at most."""
    return [key for key in found if "::" in key]


async def hydrated(rag: Rag, query: str, **options: Any) -> Hydration:
    response = await rag.search(query, episode_id=options.pop("episode_id", "e"), **options)
    assert response.hydration is not None
    return response.hydration


def topical(text: str) -> tuple[float, ...]:
    """Return a vector of given similarity to the question: .99 of auth.go, .85 of what is related, .3 of the rest.

    Any other question is like nothing.
    """
    if text == DESCRIBED:
        return (1.0, 0.0)
    if not any(path in text for path in FILES):
        return (0.0, 0.0, 1.0)
    near = 0.99 if "auth.go" in text else 0.85 if any(path in text for path in SECURITY) else 0.3
    return (near, sqrt(1 - near * near))


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    async with openai_server() as fake:
        fake.vector = topical
        yield fake


@pytest.fixture
async def open_app(open_rag: OpenRag, server: FakeOpenAI) -> AsyncIterator[Callable[..., Any]]:
    """Open the library over the files, with an embedder that is asked over HTTP."""
    endpoint = Endpoint(base_url=server.base_url, api_key="", timeout_seconds=5.0, max_retries=0)
    embedder = OpenAIEmbedder(endpoint=endpoint, model=TEST_MODEL)

    async def opened(**settings: Any) -> Rag:
        rag: Rag = await open_rag(parts=Parts(embedder=embedder), query_cache_size=0, embed_wait_seconds=0, **settings)
        await fill(rag)
        return rag

    yield opened
    await embedder.aclose()


async def test_the_named_file_is_anchored_related_code_follows_and_the_rest_is_left_out(
    open_app: Callable[..., Any],
) -> None:
    rag = await open_app()
    hydration = await hydrated(rag, FIX)
    anchored = by_reason(hydration, "anchor:explicit_file_mention")
    assert sorted(functions(anchored)) == sorted(ANCHORS)
    assert {item.planned.priority for item in hydration.entities if item.planned.entity.key in anchored} == {100}
    similar = by_reason(hydration, "semantic:0.85")
    assert keys(hydration) == [*anchored, *similar]
    assert {key.partition("::")[0] for key in similar} == SECURITY.keys()
    assert hydration.entities[0].shown.startswith("// ValidateToken checks")
    assert hydration.model == TEST_MODEL.name
    assert hydration.warnings == ()


async def test_what_a_turn_showed_is_anchored_in_the_next_and_told_later(open_app: Callable[..., Any]) -> None:
    rag = await open_app()
    first = await hydrated(rag, FIX)
    second = await hydrated(rag, "What does invoice_total() add?")
    assert (first.turn, second.turn) == (1, 2)
    assert second.entities[0].planned.entity.key == "invoice.py::invoice_total"
    assert sorted(by_reason(second, "anchor:hydrated_previous_turn")) == sorted(keys(first))
    told = await rag.introspect("e", turn=1)
    assert (told.turn, told.turns, told.query, told.model) == (1, 2, FIX, TEST_MODEL.name)
    assert [item.identity.key for item in told.entities] == keys(first)
    assert [item.position for item in told.entities] == list(range(1, len(first.entities) + 1))
    assert told.entities[1].content == first.entities[1].shown[:200]
    assert told.use == first.use


async def test_another_callers_episode_is_not_there_and_not_mixed_up(open_app: Callable[..., Any]) -> None:
    rag = await open_app()
    await hydrated(rag, FIX)
    other = rag.as_principal(Principal(subject="ben"))
    with pytest.raises(NotFoundError):
        await other.introspect("e")
    theirs = await hydrated(other, "What does invoice_total() add?")
    assert (theirs.turn, by_reason(theirs, "anchor:hydrated_previous_turn")) == (1, [])
    assert (await rag.introspect("e")).turns == 1


async def test_anchors_over_the_budget_are_dropped_and_that_is_told(open_app: Callable[..., Any]) -> None:
    rag = await open_app(hydration_max_tokens=60)
    hydration = await hydrated(rag, FIX)
    assert 0 < hydration.use.tokens <= 60
    assert {item.budget for item in hydration.dropped} == {DropReason.TOKENS}
    dropped = [item.key for item in hydration.warnings if item.code is WarningCode.ANCHOR_DROPPED]
    anchored = by_reason(hydration, "anchor:")
    assert anchored
    assert sorted(functions([*anchored, *map(str, dropped)])) == sorted(ANCHORS)
    told = await rag.introspect("e")
    assert [item.identity.key for item in told.dropped] == dropped
    assert told.warnings == hydration.warnings


async def test_where_nothing_is_similar_words_are_the_fallback(open_app: Callable[..., Any]) -> None:
    rag = await open_app(semantic_threshold=0.995)
    hydration = await hydrated(rag, "rainfall in millimetres")
    assert [warning.code for warning in hydration.warnings] == [WarningCode.NO_SEMANTIC_CANDIDATES]
    assert "weather.py::average_rainfall" in by_reason(hydration, "keyword:")
    assert by_reason(hydration, "semantic:") == []


async def test_without_the_model_anchors_alone_are_shown_and_that_is_said(
    open_app: Callable[..., Any], server: FakeOpenAI
) -> None:
    rag = await open_app(enable_hybrid_search=True)
    server.always = "503"
    response = await rag.search(FIX, episode_id="e")
    hydration = response.hydration
    assert hydration is not None
    assert sorted(functions(keys(hydration))) == sorted(ANCHORS)
    assert [warning.code for warning in hydration.warnings] == [WarningCode.STRUCTURAL_ONLY]
    assert degraded(response)["semantic"]
    assert (hydration.turn, hydration.model) == (1, None)


async def test_without_an_episode_nothing_is_hydrated(open_app: Callable[..., Any]) -> None:
    rag = await open_app()
    assert (await rag.search(FIX)).hydration is None
    with pytest.raises(NotFoundError):
        await rag.introspect("e")


@pytest.fixture
async def local_rag(make_database: Callable[..., str], postgres_server: Any) -> AsyncIterator[Rag]:
    """The library with the local model and its own threshold."""
    name = make_database()
    owner = postgres_server.dsn(name, role="ragcorp_owner")
    application = postgres_server.dsn(name)
    await anyio.to_thread.run_sync(partial(migrate, owner, embedding_model=LOCAL_MODEL, application_dsn=application))
    async with AsyncExitStack() as stack:
        settings = load_settings({"embedding_provider": "local", "embed_wait_seconds": 0})
        rag = make_rag(await stack.enter_async_context(open_container(settings, application)))
        await fill(rag)
        yield rag


@pytest.mark.local_model
async def test_with_the_local_model_related_code_is_found_and_unrelated_code_is_not(local_rag: Rag) -> None:
    hydration = await hydrated(local_rag, FIX)
    assert sorted(functions(by_reason(hydration, "anchor:explicit_file_mention"))) == sorted(ANCHORS)
    similar = by_reason(hydration, "semantic:")
    assert {key.partition("::")[0] for key in similar} == SECURITY.keys()


def test_there_are_twenty_entities() -> None:
    assert sum(text.count("\nfunc ") + text.count("def ") for text in FILES.values()) == 20
