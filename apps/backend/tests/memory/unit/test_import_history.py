"""Importing an export: batches, line numbers, and what is kept of bad lines."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

import pytest

from ragcorp.application.memory.chat_turns import TurnDefaults
from ragcorp.application.memory.import_history import BATCH_LINES, MAX_NAMED_FAILURES, ImportHistory
from ragcorp.application.validation.json_lines import MAX_LINE_BYTES
from ragcorp.domain.collections import ItemDraft
from ragcorp.domain.documents import DocumentAttributes, IngestStatus, SaveOutcome, WriteFailure, WriteOutcome
from ragcorp.domain.exceptions import ConflictError, StorageUnavailableError
from ragcorp.domain.principal import Principal
from ragcorp.interface.line_files import lines_of

pytestmark = pytest.mark.anyio

DEFAULTS = TurnDefaults(attributes=DocumentAttributes())


class Kept:
    """Stores batches; refuses what is called x, and goes out at ``out_after`` batches."""

    def __init__(self, out_after: int = 1_000) -> None:
        self.batches: list[int] = []
        self.out_after = out_after

    async def save_many(self, drafts: Sequence[ItemDraft], *, principal: Principal) -> list[SaveOutcome]:
        if len(self.batches) >= self.out_after:
            raise StorageUnavailableError("The database is out.")
        self.batches.append(len(drafts))
        return [self._outcome(draft) for draft in drafts]

    def _outcome(self, draft: ItemDraft) -> SaveOutcome:
        if draft.text == "x":
            return WriteFailure(external_id=draft.external_id, error=ConflictError("Taken.", field="external_id"))
        return WriteOutcome(external_id=draft.external_id or "", status=IngestStatus.CREATED)


def turn(text: str, number: int = 0) -> bytes:
    return json.dumps({"ts": number, "text": text}).encode() + b"\n"


async def test_batches_line_numbers_and_progress() -> None:
    kept, progress = Kept(), list[int]()
    lines = [turn("a", number) for number in range(2 * BATCH_LINES + 10)]
    lines[3], lines[4], lines[BATCH_LINES], lines[-1] = b"\n", b"[]", turn("x"), b'{"ts": 1}'
    report = await ImportHistory(save=kept).import_history(
        iter(lines), principal=Principal(), defaults=DEFAULTS, on_progress=progress.append
    )
    assert kept.batches == [BATCH_LINES - 2, BATCH_LINES, 9]
    assert progress == [BATCH_LINES, 2 * BATCH_LINES, 2 * BATCH_LINES + 10]
    assert [(failure.line, failure.error.field) for failure in report.failures] == [
        (5, "line"), (BATCH_LINES + 1, "external_id"), (2 * BATCH_LINES + 10, "text"),
    ]  # fmt: skip
    assert (report.created, report.failed, report.total) == (2 * BATCH_LINES + 6, 3, 2 * BATCH_LINES + 9)


async def test_a_batch_ends_before_a_turn_comes_again() -> None:
    def named(name: str, text: str) -> bytes:
        return json.dumps({"external_id": name, "ts": 0, "text": text}).encode()

    kept, progress = Kept(), list[int]()
    report = await ImportHistory(save=kept).import_history(
        [b"\xef\xbb\xbf" + named("a", "1"), named("b", "1"), b"{", named("a", "2"), named("b", "2"), named("b", "x")],
        principal=Principal(),
        defaults=DEFAULTS,
        on_progress=progress.append,
    )
    assert (kept.batches, progress) == ([2, 2, 1], [6])
    assert [failure.line for failure in report.failures] == [3, 6]
    assert report.created == 4


async def test_a_number_that_is_too_long_is_named() -> None:
    line = b'{"ts": 0, "text": "a", "n": ' + b"9" * 5000 + b"}"
    report = await ImportHistory(save=Kept()).import_history([line], principal=Principal(), defaults=DEFAULTS)
    assert [(failure.error.field, failure.error.limit) for failure in report.failures] == [("line", "4300 digits")]


async def test_of_many_bad_lines_the_first_are_named_and_all_counted() -> None:
    count = MAX_NAMED_FAILURES + 700
    report = await ImportHistory(save=Kept()).import_history([b"{"] * count, principal=Principal(), defaults=DEFAULTS)
    assert report.failed == count
    assert [failure.line for failure in report.failures] == list(range(1, MAX_NAMED_FAILURES + 1))


async def test_an_outage_ends_the_import() -> None:
    kept = Kept(out_after=1)
    with pytest.raises(StorageUnavailableError):
        await ImportHistory(save=kept).import_history(
            [turn("a", number) for number in range(2 * BATCH_LINES)], principal=Principal(), defaults=DEFAULTS
        )
    assert kept.batches == [BATCH_LINES]


def test_a_line_without_end_is_not_held() -> None:
    endless = b"x" * (3 * MAX_LINE_BYTES)
    assert [len(line) for line in lines_of(io.BytesIO(b"a\n" + endless + b"\nb\n\nc"))] == [
        2,
        MAX_LINE_BYTES + 1,
        2,
        1,
        1,
    ]
    assert [len(line) for line in lines_of(io.BytesIO(endless))] == [MAX_LINE_BYTES + 1]
    assert list(lines_of(io.BytesIO(b""))) == []
