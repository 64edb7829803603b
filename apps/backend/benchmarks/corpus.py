"""A synthetic corpus by seed: Spanish-like text with Zipf's word frequencies, and clustered unit vectors.

Real embeddings of 384 dimensions vary along a few dozen directions. Independent noise in all 384 would make all
neighbours equally far, which no approximate index can rank; so the vectors are a 32-dimensional mixture, projected
to 384 dimensions, with a little noise on top.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384
LATENT_DIMENSIONS = 32
CHUNKS_PER_DOCUMENT = 10
WORDS_PER_CHUNK = 120
VOCABULARY = 30_000
TOPIC_WORDS = 200
VECTORS_PER_BLOCK = 50_000
PROJECTS = 200
"""Values of the metadata key `project`: each selects 0.5 % of the chunks."""

STOP_WORDS = (  # noqa: SIM905
    "de la que el en y a los del se las por un para con no una su al lo como más pero sus le ya o este sí porque "
    "esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos durante todos uno les ni contra"
).split()

ONSETS = "b c d f g j l m n p r s t v z br cr dr fr gr pl pr tr bl cl ch ll qu".split()  # noqa: SIM905
NUCLEI = "a e i o u a e o a e o ie".split()  # noqa: SIM905
CODAS = ("", "", "", "", "", "", "n", "s", "r", "l")
ENDINGS = "o a os as e es ción ciones ado ada ados idad mente ar er ir ó ará aban iendo al ales or ores".split()  # noqa: SIM905


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRow:
    """A document and the contents of its chunks."""

    id: UUID
    external_id: str
    workspace: str
    artifact_type: str
    project: str
    chunk_ids: range
    contents: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked, and the vector that stands for it."""

    text: str
    vector: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """``chunks`` passages, ten a document. ``workspaces`` > 1 spreads the documents over that many evenly."""

    chunks: int
    seed: int = 1
    workspaces: int = 1
    words_per_chunk: int = WORDS_PER_CHUNK
    _cumulative: dict[int, NDArray[np.float64]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        return f"{self.chunks} chunks, {self.workspaces} workspace(s), seed {self.seed}"

    @property
    def clusters(self) -> int:
        return max(20, self.chunks // 250)

    def workspace(self, number: int) -> str:
        return "default" if self.workspaces == 1 else f"w{number:03d}"

    def workspace_of_chunk(self, number: int) -> str:
        """The workspace of the chunk with id ``number + 1``."""
        return self.workspace(number // CHUNKS_PER_DOCUMENT % self.workspaces)

    @cached_property
    def vocabulary(self) -> NDArray[np.str_]:
        """Words in the order of their frequency; invented, but the Spanish stemmer finds its suffixes in them."""
        random = np.random.default_rng((self.seed, 1))
        words: dict[str, None] = {}
        while len(words) < VOCABULARY:
            syllables = [
                random.choice(ONSETS) + random.choice(NUCLEI) + random.choice(CODAS)
                for _ in range(random.integers(1, 4))
            ]
            words["".join(syllables) + random.choice(ENDINGS)] = None
        return np.array(list(words))

    @cached_property
    def cluster_of(self) -> NDArray[np.int64]:
        """The topic of each document, so that its chunks share words and lie near one another."""
        random = np.random.default_rng((self.seed, 2))
        return random.integers(0, self.clusters, size=-(-self.chunks // CHUNKS_PER_DOCUMENT))

    @cached_property
    def _centres(self) -> NDArray[np.float32]:
        random = np.random.default_rng((self.seed, 3))
        return random.standard_normal((self.clusters, LATENT_DIMENSIONS), dtype=np.float32)

    def _embed(self, latent: NDArray[np.float32], random: np.random.Generator) -> NDArray[np.float32]:
        projection = np.random.default_rng((self.seed, 4)).standard_normal(
            (LATENT_DIMENSIONS, DIMENSIONS), dtype=np.float32
        ) / np.sqrt(LATENT_DIMENSIONS)
        vectors = latent @ projection + 0.1 * random.standard_normal((len(latent), DIMENSIONS), dtype=np.float32)
        unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def vector_blocks(self) -> Iterator[NDArray[np.float32]]:
        """Yield one unit vector a chunk, in blocks that fit memory whatever the number of chunks."""
        random = np.random.default_rng((self.seed, 5))
        topics = np.repeat(self.cluster_of, CHUNKS_PER_DOCUMENT)[: self.chunks]
        latent = self._centres[topics] + 0.6 * random.standard_normal(
            (self.chunks, LATENT_DIMENSIONS), dtype=np.float32
        )
        for start in range(0, self.chunks, VECTORS_PER_BLOCK):
            yield self._embed(latent[start : start + VECTORS_PER_BLOCK], random)

    def vectors(self) -> NDArray[np.float32]:
        return np.concatenate(list(self.vector_blocks()))

    def documents(self) -> Iterator[DocumentRow]:
        """Yield the documents; chunk ids go from 1."""
        random = np.random.default_rng((self.seed, 6))
        for number, topic in enumerate(self.cluster_of):
            first = number * CHUNKS_PER_DOCUMENT
            count = min(CHUNKS_PER_DOCUMENT, self.chunks - first)
            external_id = f"bench/{number:07d}.md"
            yield DocumentRow(
                id=UUID(bytes=hashlib.sha256(f"{self.seed}:{external_id}".encode()).digest()[:16]),
                external_id=external_id,
                workspace=self.workspace(number % self.workspaces),
                # no multiple of the number of workspaces or projects, so that these are independent of one another
                artifact_type="contract" if random.random() < 0.05 else "document",
                project=f"p{random.integers(0, PROJECTS):03d}",
                chunk_ids=range(first + 1, first + count + 1),
                contents=self._passages(int(topic), count, random),
            )

    def _passages(self, topic: int, count: int, random: np.random.Generator) -> list[str]:
        size = count * self.words_per_chunk
        kind = random.random(size)
        words = self.vocabulary[self._zipf(random, size, VOCABULARY)]
        topical = self.topic_words(topic)[self._zipf(random, size, TOPIC_WORDS)]
        stop = np.array(STOP_WORDS)[self._zipf(random, size, len(STOP_WORDS))]
        chosen = np.where(kind < 0.45, stop, np.where(kind < 0.65, topical, words))
        passages = []
        for start in range(0, size, self.words_per_chunk):
            part = chosen[start : start + self.words_per_chunk]
            sentences = [" ".join(part[at : at + 15]).capitalize() + "." for at in range(0, len(part), 15)]
            passages.append(" ".join(sentences))
        return passages

    def topic_words(self, topic: int) -> NDArray[np.str_]:
        """Return words that a topic uses much: less common ones, most characteristic first."""
        random = np.random.default_rng((self.seed, 7, topic))
        return self.vocabulary[300 + random.choice(VOCABULARY - 300, size=TOPIC_WORDS, replace=False)]

    def _zipf(self, random: np.random.Generator, size: int, bound: int) -> NDArray[np.intp]:
        if bound not in self._cumulative:
            weights = 1.0 / (np.arange(bound) + 2.7)  # Mandelbrot's shift, exponent 1
            self._cumulative[bound] = np.cumsum(weights / weights.sum())
        return np.minimum(np.searchsorted(self._cumulative[bound], random.random(size)), bound - 1)

    def queries(self, count: int, *, seed: int = 0) -> list[Query]:
        """Return queries of 2 to 4 words: of one topic mostly, with a word of the general vocabulary now and then.

        The more words, the rarer a chunk that has all of them: about a third have none, as questions do.
        """
        random = np.random.default_rng((self.seed, 8, seed))
        topics = random.choice(self.cluster_of, size=count)
        latent = self._centres[topics] + 0.6 * random.standard_normal((count, LATENT_DIMENSIONS), dtype=np.float32)
        vectors = self._embed(latent, random)
        queries = []
        for topic, vector in zip(topics, vectors, strict=True):
            words = list(
                self.topic_words(int(topic))[np.unique(self._zipf(random, int(random.integers(2, 5)), TOPIC_WORDS))]
            )
            if random.random() < 0.5:
                words[-1] = self.vocabulary[random.integers(20, 2000)]
            text = " ".join(map(str, words))
            queries.append(Query(text=text, vector=tuple(vector.tolist())))
        return queries
