"""Resolves mentioned symbols, clauses, headings and codes to entities: the nearest of each name. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from uuid import UUID

from ragcorp.application.structure.mentions.files import (
    FILE_NAMES,
    NUMBERED,
    MentionedFiles,
    Scopes,
    ambiguous,
    crosses,
    is_rare,
    longest_first,
    nearness_of,
    not_found,
)
from ragcorp.application.structure.mentions.path_proximity import is_within, qualified, surroundings, without_count
from ragcorp.application.structure.mentions.shapes import Mention
from ragcorp.domain.ports.structure import Named
from ragcorp.domain.structure.entities import CODE_KINDS, EntityIdentity, EntityKind, EntityRef, NameKind
from ragcorp.domain.structure.hydration import AnchorReason, HydrationWarning
from ragcorp.domain.text.entity_names import article_name, clause_name, heading_name, is_empty, symbol_name

NEARER_BEHIND = 10
"""Characters by which a file named after a mention is nearer than one before it."""

_REASONS: Mapping[str, AnchorReason] = MappingProxyType(
    {
        NameKind.SYMBOL.value: AnchorReason.EXPLICIT_SYMBOL_MENTION,
        NameKind.CLAUSE.value: AnchorReason.EXPLICIT_CLAUSE_MENTION,
        NameKind.ARTICLE.value: AnchorReason.EXPLICIT_CLAUSE_MENTION,
        NameKind.HEADING.value: AnchorReason.EXPLICIT_HEADING_MENTION,
        NameKind.IDENTIFIER.value: AnchorReason.EXPLICIT_IDENTIFIER_MENTION,
    }
)
_NUMBERED = re.compile(r"^[\W\d]*\d[\d.]*\W+")
_IDENTIFIER = re.compile(r"\w+")
_STOP = re.compile(r"[.:\u2013\u2014-]+\s+")
_COMPOUND = re.compile(r"[\W_]|[^\W_A-Z][A-Z]|[A-Z]{2}[^\W_A-Z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionedEntity:
    """An entity with the reason for its anchor, and the index of its mention."""

    entity: EntityRef
    reason: AnchorReason
    order: int
    weak: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionedEntities:
    entities: tuple[MentionedEntity, ...] = ()
    warnings: tuple[HydrationWarning, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The lookups of a query: entities by name, of its files and of the episode, latest turn first; word frequencies.

    ``frequencies`` are numbers of chunks, out of ``chunks``, with each word.
    """

    named: Mapping[str, Named[EntityRef]]
    of_documents: Mapping[UUID, tuple[EntityRef, ...]] = field(default_factory=dict)
    previous: Sequence[EntityRef] = ()
    frequencies: Mapping[str, int] = field(default_factory=dict)
    chunks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """One entity, or its overloads in text order; ``others``: more entities match."""

    name: str
    entities: tuple[EntityRef, ...]
    matches: int

    @property
    def others(self) -> bool:
        return self.matches > len(self.entities)


def mentioned_entities(mentions: Sequence[Mention], files: MentionedFiles, evidence: Evidence) -> MentionedEntities:
    """Return one entity (with all overloads of a symbol) for each mention that matches any, in the order of the
    mentions; for a mention bound to several files, one of each.

    The nearest match is taken: in a named file (the one named nearest to it), within the owner, of the kind, with the
    exact spelling, in a near file, then by ``Surroundings.nearness``. An entity missing from the file that a mention is
    bound to is not taken from elsewhere (``Scopes``); a warning says so. A weak mention counts if exactly one entity of
    a named file has its name, or exactly one of all: for a run of words only with a compound name, for a single word
    only if it is rare and the query is about code.
    """
    chooser = _Chooser(mentions, files, evidence)
    taken_entities: list[MentionedEntity] = []
    warnings: dict[str, HydrationWarning] = {}
    taken: list[tuple[int, int]] = [(file.start, file.end) for file in files.files]

    def take(order: int, mention: Mention, choice: _Choice) -> None:
        reason = _REASONS[choice.name.partition(":")[0]]
        taken_entities.extend(
            MentionedEntity(entity=entity, reason=reason, order=order, weak=mention.weak) for entity in choice.entities
        )
        taken.append(mention.span_of(choice.name) if choice.name in mention.names else (mention.start, mention.end))

    for order, mention in enumerate(mentions):
        if mention.weak:
            continue
        chosen, missing = chooser.strong(mention)
        for warning in missing:
            warnings.setdefault(warning.message, warning)
        for choice in chosen:
            take(order, mention, choice)
            if choice.others and len(chosen) == 1:
                first = choice.entities[0]
                shown = f"the one in {first.path or first.external_id} is shown"
                written = mention.written(choice.name) if choice.name in mention.names else mention.text
                warning = ambiguous(
                    written, choice.matches, "entities", shown, document_id=first.document_id, key=first.key
                )
                warnings.setdefault(warning.message, warning)
    for order, mention in longest_first(mentions):
        weak = chooser.weak(mention, taken)
        if weak is not None:
            take(order, mention, weak)
    taken_entities.sort(key=lambda entity: entity.order)
    return MentionedEntities(entities=tuple(taken_entities), warnings=tuple(warnings.values()))


def names_of(entity: EntityRef) -> frozenset[str]:
    """Return the stored names that follow from an entity's key and name; files and codes have none."""
    if entity.kind in CODE_KINDS:
        parts = qualified(entity)
        return frozenset(symbol_name(".".join(parts[start:])) for start in range(len(parts)))
    lead, _, title = _STOP.sub("\n", entity.name, count=1).partition("\n")
    written = (entity.name, _NUMBERED.sub("", entity.name), lead, title)
    names = {name for name in map(heading_name, written) if not is_empty(name)}
    kind, _, number = entity.key.removeprefix(f"{entity.path}#").partition(" ")
    if entity.kind is EntityKind.CLAUSE and kind == EntityKind.CLAUSE:
        names.add(clause_name(without_count(number)))
    if entity.kind is EntityKind.ARTICLE and kind == EntityKind.ARTICLE:
        names.add(article_name(without_count(number)))
    return frozenset(names) if entity.kind not in {EntityKind.FILE, EntityKind.IDENTIFIER} else frozenset()


class _Chooser:
    def __init__(self, mentions: Sequence[Mention], files: MentionedFiles, evidence: Evidence) -> None:
        self._evidence = evidence
        self._around = surroundings(mentions, evidence.previous)
        self._scopes = Scopes(mentions, files)
        self._files = frozenset(file.order for file in files.files)
        self._orders = {id(mention): order for order, mention in enumerate(mentions)}
        self._places: dict[UUID, list[tuple[int, int]]] = {}
        for item in files.files:
            self._places.setdefault(item.file.document_id, []).append((item.start, item.end))
        self._near = frozenset(files.near)
        self._shown = frozenset(entity.identity for entity in evidence.previous)
        self._owners: set[tuple[int, int]] = set()
        self._nearness: dict[EntityRef, float] = {}
        for named in evidence.named.values():
            self._nearness.update(nearness_of(named))
        self._by_name: dict[str, list[EntityRef]] = {}
        here = (entity for entities in evidence.of_documents.values() for entity in entities)
        for entity in _distinct((*here, *evidence.previous)):
            for name in names_of(entity):
                self._by_name.setdefault(name, []).append(entity)

    def strong(self, mention: Mention) -> tuple[list[_Choice], list[HydrationWarning]]:
        """Return the choices of a mention in each file that it is bound to, and warnings for files without a match."""
        scopes = {name: self._scopes.of(mention, name) for name in mention.names if not name.startswith(FILE_NAMES)}
        bound = next((scope for scope in scopes.values() if scope is not None), None)
        if bound is None:
            return self._anywhere(mention, tuple(scopes)), []
        here = [name for name, scope in scopes.items() if scope is not None]
        chosen: list[_Choice] = []
        missing: list[HydrationWarning] = []
        for label, document in bound:
            choice = self._first(mention, here, document) if document else None
            if choice is not None:
                chosen.append(choice)
            else:
                missing.append(not_found(mention.text, label, document))
        if chosen:
            numbered = chosen[0].name.startswith(NUMBERED)
            return chosen, missing if numbered else []
        free = self._anywhere(mention, [name for name in scopes if name not in here])
        certain = any(name.startswith(NUMBERED) or self._fitting(mention, name)[0] for name in here)
        return free, missing if certain and not free else []

    def _anywhere(self, mention: Mention, names: Sequence[str]) -> list[_Choice]:
        choices = [choice for name in names if (choice := self._choice(mention, name))]
        numbered = [choice for choice in choices if choice.name.startswith(NUMBERED)]
        of_files = [choice for choice in numbered if choice.entities[0].document_id in self._places]
        choice = next(iter(of_files or choices), None)
        if choice is None and self._orders.get(id(mention)) not in self._files:
            choice = next((outer for name in mention.outer if (outer := self._outer(mention, name))), None)
        return [choice] if choice else []

    def _first(self, mention: Mention, names: Sequence[str], document: UUID) -> _Choice | None:
        """Return the choice for the first name that the document has; an article may be called a clause."""
        either = [*names, *(other for name in names if (other := _otherwise(name)))]
        return next((choice for name in either if (choice := self._choice(mention, name, document))), None)

    def _outer(self, mention: Mention, name: str) -> _Choice | None:
        """Return the class of an unknown member, spelled exactly: ``Role`` of ``Role.Admin``."""
        written = frozenset(_IDENTIFIER.findall(mention.text))
        fits, _ = self._fitting(replace(mention, qualifiers=mention.qualifiers[:-1]), name)
        classes = [entity for entity in fits if entity.kind is EntityKind.CLASS and qualified(entity)[-1] in written]
        if not classes:
            return None
        ranked = sorted(classes, key=self._rank(mention, mention.text))
        return _Choice(name=name, entities=tuple(ranked[:1]), matches=len(classes))

    def weak(self, mention: Mention, taken: Sequence[tuple[int, int]]) -> _Choice | None:
        for name in mention.names:
            start, end = mention.span_of(name)
            if name.startswith(FILE_NAMES) or crosses(start, end, taken) or (start, end) in self._owners:
                continue
            fits, matches = self._fitting(mention, name)
            fits, matches = self._narrowed(mention, fits, matches)
            of_files = [entity for entity in fits if entity.document_id in self._places]
            here, everywhere = _overloads(of_files), _overloads(fits)
            if of_files and len(here) == len(of_files):
                return _Choice(name=name, entities=here, matches=len(here))
            if fits and matches == len(everywhere) and self._counts(mention, name, fits[0]):
                return _Choice(name=name, entities=everywhere, matches=matches)
        return None

    def _counts(self, mention: Mention, name: str, entity: EntityRef) -> bool:
        if mention.word is not None:
            return mention.code and is_rare(mention.word, self._evidence.frequencies, self._evidence.chunks)
        together = name.startswith("symbol:") and re.search(r"\W", mention.written(name)) is not None
        return not together or entity.kind is EntityKind.FILE or _COMPOUND.search(entity.name) is not None

    def _choice(self, mention: Mention, name: str, document: UUID | None = None) -> _Choice | None:
        fits, matches = self._fitting(mention, name)
        if document is not None:
            fits = [entity for entity in fits if entity.document_id == document]
            matches = len(fits)
        elif of_files := [entity for entity in fits if entity.document_id in self._places]:
            fits, matches = of_files, len(of_files)
        if not fits:
            return None
        fits, matches = self._narrowed(mention, fits, matches)
        return _Choice(
            name=name,
            entities=_overloads(sorted(fits, key=self._rank(mention, mention.written(name)))),
            matches=matches,
        )

    def _narrowed(self, mention: Mention, fits: list[EntityRef], matches: int) -> tuple[list[EntityRef], int]:
        """Return the entities within the mention's owner and of its kind, where there are any."""
        owned = [entity for entity in fits if mention.owners and is_within(entity, mention.owners)]
        if owned and mention.owner_span:
            self._owners.add(mention.owner_span)
        for some in (owned, [entity for entity in owned or fits if entity.kind in mention.kinds]):
            if some and len(some) < len(fits):
                fits, matches = some, len(some)
        return fits, matches

    def _fitting(self, mention: Mention, name: str) -> tuple[list[EntityRef], int]:
        of_name = self._evidence.named.get(name)
        by_name = of_name.items if of_name else ()
        entities = _distinct((*by_name, *self._by_name.get(name, ())))
        fits = [
            entity
            for entity in entities
            if not mention.qualifiers or is_within(entity, mention.qualifiers, itself=name not in names_of(entity))
        ]
        matches = of_name.matches if of_name and len(fits) == len(entities) else len(fits)
        return fits, max(matches, len(fits))

    def _rank(self, mention: Mention, written: str) -> Callable[[EntityRef], tuple[object, ...]]:
        identifiers = frozenset(_IDENTIFIER.findall(written))

        def rank(entity: EntityRef) -> tuple[object, ...]:
            places = self._places.get(entity.document_id, [])
            gaps = [
                start - mention.end if start >= mention.end else mention.start - end + NEARER_BEHIND
                for start, end in places
            ]
            return (
                not places,
                min(gaps, default=0),
                entity.kind in CODE_KINDS and qualified(entity)[-1] not in identifiers,  # Animator is not animator
                entity.document_id not in self._near,
                *self._around.nearness(entity.path, self._nearness.get(entity)),
                entity.identity not in self._shown,
                entity.external_id,
                entity.position,
                entity.key,
            )

        return rank


def _otherwise(name: str) -> str | None:
    """Return the article name for a clause name and vice versa: a document uses one or the other."""
    kind, _, number = name.partition(":")
    if kind == NameKind.CLAUSE:
        return article_name(number)
    return clause_name(number) if kind == NameKind.ARTICLE else None


def _overloads(entities: Sequence[EntityRef]) -> tuple[EntityRef, ...]:
    """Return the first entity with its overloads in the same file: ``work``, ``work (2)``."""
    first = entities[:1]
    if not first or first[0].kind not in CODE_KINDS:
        return tuple(first)
    key = without_count(first[0].key)
    same = [
        entity for entity in entities if entity.document_id == first[0].document_id and without_count(entity.key) == key
    ]
    return tuple(sorted(same, key=lambda entity: (entity.position, entity.key)))


def _distinct(entities: Iterable[EntityRef]) -> list[EntityRef]:
    kept: dict[EntityIdentity, EntityRef] = {}
    for entity in entities:
        kept.setdefault(entity.identity, entity)
    return list(kept.values())
