"""The language that a workspace's queries are read in first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ragcorp import Principal
from ragcorp.domain.documents import DocumentAttributes
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.main.opening.library import make_rag

pytestmark = pytest.mark.anyio


async def test_a_workspace_chooses_its_language_and_others_keep_theirs(make_container: Callable[..., Any]) -> None:
    rag = make_rag(await make_container(enable_hybrid_search=True))
    other = rag.as_principal(Principal(workspace="other"))
    assert await rag.set_language("pt") == ("pt",)
    await rag.ingest_text("a.md", "The companies run.", attributes=DocumentAttributes(language="en"))
    assert await rag.set_language("pt") == ("pt", "en")
    assert await other.set_language(None) == ("es",)
    assert await rag.set_language(None) == ("es", "en")


async def test_words_are_stemmed_as_the_chosen_language_does(make_container: Callable[..., Any]) -> None:
    rag = make_rag(await make_container())
    # no document of the language yet whose words would tell
    await rag.set_language("en")
    await rag.ingest_text("a.md", "The companies were running late.", attributes=DocumentAttributes(language="en"))
    result = await rag.search("company runs", mode="sparse")
    assert [hit.chunk.external_id for hit in result.hits] == ["a.md"]


@pytest.mark.parametrize("language", ["spanish", "ES", "", "e", "e1"])
async def test_what_is_no_code_is_refused(make_container: Callable[..., Any], language: str) -> None:
    rag = make_rag(await make_container())
    with pytest.raises(InvalidInputError) as refused:
        await rag.set_language(language)
    assert (refused.value.field, bool(refused.value.remedy)) == ("language", True)
