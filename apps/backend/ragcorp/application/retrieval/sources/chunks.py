"""The two retrieval sources over the chunks: dense by embedding, sparse by full text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import DOCUMENT_FIELDS
from ragcorp.domain.ports.models import Embedder, embed_query
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.ports.storage import (
    ChunkScoring,
    DocumentRepository,
    HybridChunks,
    LexicalChunks,
    SimilarChunks,
    VisibleFrequencies,
)
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import CHUNK_COLLECTION, ScoreType
from ragcorp.domain.search.lexical import LexicalEvidence, QueryTerm, TermKind, lexical_evidence, term_factors, total
from ragcorp.domain.search.requests import QuerySyntax
from ragcorp.domain.search.sources import IDENTIFIERS

VECTORS_PENDING = "vectors_pending"

COMES_FIRST = 30.0
"""Emphasis of the identifiers: with the standard weights a whole match outweighs any difference of cosine (from -1 to
1) and share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseChunkSource:
    """Nearest chunks by cosine similarity. The model runs before a connection is taken."""

    name = "dense"
    collection = CHUNK_COLLECTION
    filter_fields = DOCUMENT_FIELDS

    embedder: Embedder
    repository: DocumentRepository
    scoring: ChunkScoring

    async def retrieve(self, query: SourceQuery) -> SourceAnswer:
        embedding = await self.embedding(query)
        similar = await self.repository.find_similar_chunks(
            embedding, principal=query.principal, filters=query.filters, limit=query.limit
        )
        return self.answer(query, embedding, similar)

    async def embedding(self, query: SourceQuery) -> Vector:
        """Raises what the embedder raises."""
        return await embed_query(self.embedder, query.text, workspace=query.principal.workspace)

    def answer(self, query: SourceQuery, embedding: Vector, similar: SimilarChunks) -> SourceAnswer:
        return SourceAnswer(
            ranked_list=similar.ranked_list,
            incomplete=VECTORS_PENDING if similar.seen < 1 else None,
            seen=similar.seen,
            scorer=SimilarityScorer(scoring=self.scoring, embedding=embedding, principal=query.principal),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityScorer:
    """Half-centred cosine of any chunk.

    Embeddings of many models crowd around their mean m, which no query influences; cos(q - m/2, p - m/2) spreads
    them out and, unlike full centring, keeps some of the workspace's topic (docs/retrieval.md has the figures).
    """

    score_type = ScoreType.HALF_CENTRED_COSINE

    scoring: ChunkScoring
    embedding: Vector
    principal: Principal

    async def scores(self, chunk_ids: Sequence[str]) -> Mapping[str, float]:
        return await self.scoring.half_centred_similarities(self.embedding, chunk_ids, principal=self.principal)

    async def evidence(self, chunk_ids: Sequence[str], *, score_type: str) -> Mapping[str, LexicalEvidence]:
        del chunk_ids, score_type
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class FullTextChunkSource:
    """Chunks that match words of the query, with extra lists for its identifiers and for all its words."""

    name = "full_text"
    collection = CHUNK_COLLECTION
    filter_fields = DOCUMENT_FIELDS

    repository: DocumentRepository
    scoring: ChunkScoring

    async def retrieve(self, query: SourceQuery) -> SourceAnswer:
        matches = await self.repository.find_chunks_full_text(
            query.text, principal=query.principal, filters=query.filters, limit=query.limit, syntax=query.syntax
        )
        return await self.answer(query, matches)

    async def answer(self, query: SourceQuery, matches: LexicalChunks) -> SourceAnswer:
        visible = await self._visible(matches, query.principal) if query.explain else None
        return SourceAnswer(
            ranked_list=matches.ranked_list,
            further=(matches.identifiers, matches.all_words),
            emphasis={IDENTIFIERS: COMES_FIRST} if matches.identifiers.hits else {},
            cut=matches.cut,
            scorer=LexicalScorer(
                scoring=self.scoring,
                matches=matches,
                principal=query.principal,
                with_idf=visible is not None and visible.everything,
            ),
            admits=(
                partial(self.scoring.admitted_chunks, query.text, principal=query.principal)
                if query.syntax is QuerySyntax.WEBSEARCH
                else None
            ),
            notes={} if visible is None else lexical_notes(matches, visible),
            terms=matches.terms,
        )

    async def _visible(self, matches: LexicalChunks, principal: Principal) -> VisibleFrequencies:
        lexemes = [term.lexeme for term in matches.terms]
        return await self.scoring.visible_frequencies(lexemes, principal=principal)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointChunkSources:
    """Both chunk sources at the price of one: one connection and one round trip, after the model."""

    dense: DenseChunkSource
    full_text: FullTextChunkSource
    chunks: HybridChunks

    @property
    def names(self) -> tuple[str, ...]:
        return (self.dense.name, self.full_text.name)

    async def retrieve(self, queries: Mapping[str, SourceQuery]) -> Mapping[str, SourceAnswer | Exception]:
        """Return the answer of each source. If the model fails, its error is that of dense. Raises what storage raises.

        The queries differ in ``limit`` only.
        """
        nearest, matching = (queries[name] for name in self.names)
        try:
            embedding = await self.dense.embedding(nearest)
        except Exception as error:  # noqa: BLE001 - the caller reports it as it reports that of a source
            return {self.dense.name: error, self.full_text.name: await self.full_text.retrieve(matching)}
        similar, matches = await self.chunks.find_chunks_both_ways(
            nearest.text,
            embedding,
            principal=nearest.principal,
            filters=nearest.filters,
            nearest=nearest.limit,
            matching=matching.limit,
            syntax=nearest.syntax,
        )
        return {
            self.dense.name: self.dense.answer(nearest, embedding, similar),
            self.full_text.name: await self.full_text.answer(matching, matches),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalScorer:
    """Evidence share of any chunk, and its lexemes; without ``with_idf`` no counts of unreadable chunks."""

    score_type = ScoreType.EVIDENCE_SHARE

    scoring: ChunkScoring
    matches: LexicalChunks
    principal: Principal
    with_idf: bool

    async def scores(self, chunk_ids: Sequence[str]) -> Mapping[str, float]:
        matches = await self.evidence(chunk_ids, score_type=self.score_type)
        return {chunk_id: min(1.0, total(evidence)) for chunk_id, evidence in matches.items()}

    async def evidence(self, chunk_ids: Sequence[str], *, score_type: str) -> Mapping[str, LexicalEvidence]:
        if score_type not in (ScoreType.BM25, ScoreType.EVIDENCE_SHARE):
            return {}
        counted = await self.scoring.count_lexemes(
            [term.lexeme for term in self.matches.terms], chunk_ids, principal=self.principal
        )
        factors = term_factors(self.matches.terms, score_type=score_type)
        return {
            chunk_id: lexical_evidence(
                self.matches.terms,
                factors,
                item.counts,
                length=item.length,
                average_length=self.matches.average_length,
                with_idf=self.with_idf,
            )
            for chunk_id, item in counted.items()
        }


def lexical_notes(matches: LexicalChunks, visible: VisibleFrequencies) -> dict[str, object]:
    """Return the notes of full text, with counts of chunks that the caller may read.

    A term in no such chunk is shown once, as typed, without idf, whether or not unreadable chunks contain it. ``idf``
    and ``average_length`` are those of the scores, over the whole workspace: None if the caller may not read all.
    """
    words: dict[str, list[QueryTerm]] = {}
    for term in matches.terms:
        words.setdefault(term.word, []).append(term)
    return {
        "chunks": matches.chunks if visible.everything else visible.chunks,
        "average_length": matches.average_length if visible.everything else None,
        "counted_up_to": None if visible.everything else visible.counted_up_to,
        "terms": [note for terms in words.values() for note in _notes(terms, visible)],
    }


def _notes(terms: Sequence[QueryTerm], visible: VisibleFrequencies) -> Iterator[Mapping[str, object]]:
    readable = [term for term in terms if visible.frequencies.get(term.lexeme)]
    for term in readable:
        count = term.document_frequency if visible.everything else visible.frequencies[term.lexeme]
        yield asdict(term) | {"document_frequency": count, "idf": term.idf if visible.everything else None}
    a_word = any(term.kind is TermKind.WORD for term in terms)
    word = terms[0].word
    # adjacent words that were tried as one code are not a separate term
    if all(term.kind is TermKind.PART for term in readable) and (a_word or " " not in word):
        kind = TermKind.WORD if a_word else TermKind.WHOLE
        yield asdict(QueryTerm(word=word, lexeme=word, kind=kind, document_frequency=0, idf=0.0)) | {"idf": None}
