"""Use case: add, replace and change items of memory or history."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ragcorp.application.validation.attribute_checks import MAX_METADATA_BYTES, require_external_id, superseded
from ragcorp.application.validation.item_changes import ItemChange
from ragcorp.application.validation.item_drafts import checked_draft
from ragcorp.domain.collections import Collection, Item, ItemDraft
from ragcorp.domain.documents import IngestStatus, SaveOutcome, WriteFailure, WriteOutcome
from ragcorp.domain.exceptions import ConflictError, RagcorpError
from ragcorp.domain.ports.collections import ItemRepository
from ragcorp.domain.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveItems:
    """Stores items of one collection; an equal item stays unchanged. Vectors follow."""

    collection: Collection
    repository: ItemRepository
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    max_metadata_bytes: int = MAX_METADATA_BYTES

    async def save(self, draft: ItemDraft, *, principal: Principal) -> WriteOutcome:
        """Create or replace an item; its time is kept or set. Raises InvalidInputError or ConflictError."""
        checked = self._checked(self._dated(draft), principal)
        (outcome,) = await self.repository.save_many([checked], principal=principal)
        return outcome

    async def save_many(self, drafts: Sequence[ItemDraft], *, principal: Principal) -> list[SaveOutcome]:
        """Store a batch in one transaction; report bad drafts in their place. Of a repeated name, the last counts."""
        outcomes: list[SaveOutcome | None] = [None] * len(drafts)
        repeated: list[tuple[int, int]] = []
        checked: dict[tuple[str | None, str | None], tuple[int, ItemDraft]] = {}
        for position, draft in enumerate(drafts):
            try:
                ready = self._checked(self._dated(draft), principal)
            except RagcorpError as error:
                outcomes[position] = WriteFailure(external_id=draft.external_id, error=error)
                continue
            name = (ready.external_id, ready.named_after)
            earlier = checked.pop(name, None)
            if earlier is not None and earlier[1] == ready:
                repeated.append((position, earlier[0]))
                checked[name] = earlier
                continue
            if earlier is not None:
                outcomes[earlier[0]] = WriteFailure(external_id=ready.external_id, error=superseded("item"))
            checked[name] = (position, ready)
        for position, outcome in await self._save(list(checked.values()), principal):
            outcomes[position] = outcome
        for position, first in repeated:
            outcomes[position] = _again(outcomes[first])
        return [outcome for outcome in outcomes if outcome is not None]

    async def change(self, external_id: str, change: ItemChange, *, principal: Principal) -> WriteOutcome:
        """Apply ``change`` without losing concurrent writes. Raises NotFoundError or InvalidInputError."""
        require_external_id(external_id)

        def changed(item: Item) -> ItemDraft:
            return self._checked(change.apply(item, collection=self.collection), principal)

        return await self.repository.change(external_id, changed, principal=principal)

    def _checked(self, draft: ItemDraft, principal: Principal) -> ItemDraft:
        return checked_draft(draft, principal=principal, max_metadata_bytes=self.max_metadata_bytes)

    def _dated(self, draft: ItemDraft) -> ItemDraft:
        """Date a turn that gets its name from its content: the same words may occur again."""
        undated = draft.external_id is None and draft.attributes.occurred_at is None
        if self.collection is not Collection.HISTORY or not undated:
            return draft
        return replace(draft, attributes=replace(draft.attributes, occurred_at=self.clock()))

    async def _save(
        self, drafts: Sequence[tuple[int, ItemDraft]], principal: Principal
    ) -> list[tuple[int, SaveOutcome]]:
        if not drafts:
            return []
        try:
            saved = await self.repository.save_many([draft for _, draft in drafts], principal=principal)
        except ConflictError as error:
            if len(drafts) == 1:
                position, draft = drafts[0]
                return [(position, WriteFailure(external_id=draft.external_id, error=error))]
            # one item blocks the batch: the half without it is stored at once
            half = len(drafts) // 2
            return [*await self._save(drafts[:half], principal), *await self._save(drafts[half:], principal)]
        return [(position, outcome) for (position, _), outcome in zip(drafts, saved, strict=True)]


def _again(outcome: SaveOutcome | None) -> SaveOutcome | None:
    return replace(outcome, status=IngestStatus.UNCHANGED) if isinstance(outcome, WriteOutcome) else outcome
