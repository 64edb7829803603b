"""Settings: environment variables into one frozen, typed object. Only `main` reads it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.domain.keys import EVERY_SCOPE, Caller
from ragcorp.domain.principal import WORKSPACE_PATTERN, Principal
from ragcorp.domain.search.requests import FusionMethod, SparseOperator, SparseRanking
from ragcorp.domain.text.languages import CODES, LIMIT

LOCAL_MODEL = ("multilingual-e5-small", 384)
OPENAI_MODEL = ("text-embedding-3-small", 1536)


REMEDY = "Correct the named variables; docs/configuration.md lists all."


class EmbeddingProvider(StrEnum):
    LOCAL = "local"
    OPENAI = "openai"
    NONE = "none"


class AnswerProvider(StrEnum):
    EXTRACTIVE = "extractive"
    OPENAI = "openai"


class OcrMode(StrEnum):
    AUTO = "auto"
    OFF = "off"


class RerankProvider(StrEnum):
    NONE = "none"
    HTTP = "http"


ALIASES = {"rrf_constant": "rrf_k", "max_hybrid_search_results": "max_limit"}
"""Aliases from the design documents; two different values are refused."""


class Settings(BaseSettings):
    """Every setting, its bounds and its default. The name of the variable is the field's, in capitals."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", case_sensitive=False, env_ignore_empty=True)

    # storage
    ragcorp_data_dir: Path | None = Field(None, description="Folder of the embedded PostgreSQL.")
    database_url: SecretStr | None = Field(None, description="DSN of your own PostgreSQL, for the application role.")
    database_owner_url: SecretStr | None = Field(None, description="DSN of the schema's owner, for migrations.")
    database_pool_size: int = Field(10, ge=2, le=200, description="Connections of one process.")
    database_pool_timeout_seconds: float = Field(2.0, gt=0, le=60, description="Longest wait for a connection.")
    database_statement_timeout_seconds: float = Field(30.0, gt=0, le=3600, description="Longest statement.")
    database_lock_timeout_seconds: float = Field(5.0, gt=0, le=3600, description="Longest wait for a lock.")
    ragcorp_workspace: str = Field(
        "default",
        pattern=f"^(?:{WORKSPACE_PATTERN.pattern})$",
        description="The workspace of commands, the library and `ragcorp mcp`; the service takes it from the key.",
    )

    # retrieval
    enable_hybrid_search: bool = Field(False, description="Search dense and full text and fuse them (mode auto).")
    hybrid_shadow: bool = Field(
        False, description="Answer mode auto with the old profile and run the new one beside it, unseen."
    )
    hybrid_rollout_percent: float | None = Field(
        None, ge=0, le=100, allow_inf_nan=False, description="Share of mode auto that gets the new profile."
    )
    fusion_method: FusionMethod = Field(FusionMethod.RRF, description="How hybrid search fuses: rrf or linear.")
    sparse_ranking: SparseRanking = Field(SparseRanking.BM25, description="Sparse ranking: bm25 or ts_rank_cd.")
    sparse_operator: SparseOperator = Field(
        SparseOperator.AND, description="How ts_rank_cd connects the words of a query: and or or."
    )
    sparse_budget: int = Field(
        30_000,
        ge=1000,
        le=100_000_000,
        description="Most postings that BM25 reads for a query before it cuts it short.",
    )
    rrf_k: int = Field(60, ge=1, le=10_000, description="Rank constant k of Reciprocal Rank Fusion.")
    rrf_constant: int | None = Field(None, ge=1, le=10_000, description="Another name of RRF_K.")
    rank_window_size: int = Field(100, ge=1, le=1000, description="Hits that each source gives to fusion.")
    hnsw_ef_search: int = Field(100, ge=1, le=1000, description="Size of HNSW's candidate list.")
    hnsw_max_scan_tuples: int = Field(
        200_000, ge=1000, le=2_000_000_000, description="Most tuples that an iterative HNSW scan visits."
    )
    source_timeout_seconds: float = Field(2.5, gt=0, le=120, description="Deadline of one retrieval source.")
    search_timeout_seconds: float = Field(4.0, gt=0, le=120, description="Deadline of a search as a whole.")

    circuit_breaker_failures: int = Field(
        5, ge=0, le=1000, description="Failures in a row after which a source is skipped for a while; 0 never skips."
    )
    circuit_breaker_cooldown_seconds: float = Field(
        5.0, gt=0, le=3600, description="How long a failing source is skipped before one query probes it."
    )

    # collections, memory and graph
    overfetch_multiplier: float = Field(
        3.0, gt=0, le=40, description="Hits that each source of profile collections gives, in quarters of the window."
    )
    temporal_decay_half_life_days: float = Field(
        30.0, gt=0, le=36_500, description="Age at which a passage of profile memory counts half."
    )
    evergreen_floor: float = Field(
        0.3, ge=0, le=1, description="Least decay of persons, places and relationships, however old."
    )
    mmr_lambda: float = Field(
        0.7, ge=0, le=1, description="Relevance against diversity in profile memory; 1: relevance."
    )
    mmr_candidate_pool_size: int = Field(20, ge=1, le=100, description="Passages that MMR puts into a new order.")
    graph_similarity_threshold: float = Field(
        0.85, ge=-1, le=1, description="Cosine from which an entity that a query does not name leads to its facts."
    )
    default_lookback_hours: float = Field(
        168.0, gt=0, le=876_000, description="How far back profile memory looks for words in history."
    )

    # files
    allowed_paths: str = Field(
        "", description="Folders whose files may be searched and read, as [name=]dir[:[name=]dir...]; empty: none."
    )
    files_workspace: str = Field(
        "default", pattern=WORKSPACE_PATTERN.pattern, description="The workspace whose callers may read these files."
    )
    files_sensitivity: Literal["public", "normal", "confidential", "restricted"] = Field(
        "normal", description="The clearance that a reader of these files needs."
    )
    files_hard_links: bool = Field(False, description="Read files that have further hard links.")
    files_max_read_bytes: int = Field(
        1024 * 1024, ge=1024, le=64 * 1024 * 1024, description="Longest text of one reading of a file, as UTF-8."
    )
    grep_timeout_seconds: float = Field(2.0, gt=0, le=120, description="Deadline of a search in files.")
    vector_score_threshold: float | None = Field(
        None,
        gt=0,
        le=2,
        allow_inf_nan=False,
        description="Cosine distance from which profile files drops a vector hit; unset: the model's own, else 0.5.",
    )

    # structure and hydration
    enable_file_mention_anchors: bool = Field(True, description="Anchor the entities of files that a query names.")
    enable_symbol_mention_anchors: bool = Field(
        True, description="Anchor symbols, headings, clauses and codes that a query names, and their neighbours."
    )
    enable_previous_hydration_anchors: bool = Field(True, description="Anchor what earlier turns of an episode showed.")
    enable_semantic_ranking: bool = Field(True, description="Fill the room that anchors leave by similarity.")
    semantic_threshold: float | None = Field(
        None,
        ge=-1,
        le=1,
        allow_inf_nan=False,
        description="Cosine similarity above which an entity may be shown; unset: the model's own, else 0.7.",
    )
    semantic_budget_tokens: int = Field(
        4000, ge=0, le=1_000_000, description="Most tokens that are shown for their similarity."
    )
    semantic_budget_entities: int = Field(
        10, ge=0, le=1000, description="Most entities that are shown for their similarity."
    )
    hydration_max_tokens: int = Field(8000, ge=1, le=1_000_000, description="Most tokens of a hydration as a whole.")
    hydration_max_entities: int = Field(20, ge=1, le=1000, description="Most entities of a hydration as a whole.")
    hydration_retention_days: float = Field(
        30.0, gt=0, le=36_500, description="How long it is remembered what an episode showed."
    )

    # memory briefing
    context_load_timeout: float = Field(3.0, gt=0, le=120, description="Deadline of /context, in seconds.")
    default_result_limit: int = Field(5, ge=1, le=50, description="Items of /context that names no limit.")
    max_memory_chars: int = Field(2000, ge=400, le=100_000, description="Longest briefing of /context, with its fence.")

    # reranking
    rerank_provider: RerankProvider = Field(RerankProvider.NONE, description="none, or http: a server's /rerank.")
    rerank_url: str | None = Field(None, description="URL of the reranking endpoint.")
    rerank_model: str = Field("", max_length=200, description="Name of its model.")
    rerank_api_key: SecretStr = Field(SecretStr(""), description="Its key.")
    rerank_timeout_seconds: float = Field(2.0, gt=0, le=60, description="Deadline of reranking.")
    rerank_pool_size: int = Field(20, ge=1, le=200, description="Passages that are reranked.")

    # embeddings
    embedding_provider: EmbeddingProvider = Field(EmbeddingProvider.LOCAL, description="local, openai or none.")
    embedding_model: str | None = Field(None, max_length=200, description="Name of the embedding model.")
    embedding_dim: int | None = Field(None, ge=1, le=4000, description="Width of its vectors.")
    embedding_batch_size: int = Field(64, ge=1, le=2048, description="Passages a call to the provider.")
    embedding_send_dimensions: bool = Field(True, description="Send `dimensions` to the provider.")
    embedding_timeout_seconds: float = Field(20.0, gt=0, le=600, description="Deadline of an embedding call.")
    embed_wait_seconds: float = Field(2.0, ge=0, le=60, description="How long a PUT waits for its vectors.")
    query_cache_size: int = Field(1024, ge=0, le=1_000_000, description="Query vectors kept in memory.")
    embedding_cache_ttl: float = Field(
        86_400.0, ge=0, le=31_536_000, description="Seconds that a vector is kept in memory; the database keeps it on."
    )

    # answers
    answer_provider: AnswerProvider = Field(AnswerProvider.EXTRACTIVE, description="extractive or openai.")
    answer_model: str = Field("gpt-4o-mini", max_length=200, description="Name of the language model.")
    answer_timeout_seconds: float = Field(60.0, gt=0, le=600, description="Deadline of an answer.")
    answer_max_passages: int = Field(10, ge=1, le=50, description="Passages that the answerer reads.")
    openai_base_url: str | None = Field(None, description="Base URL of an OpenAI-compatible server.")
    openai_api_key: SecretStr = Field(SecretStr(""), description="Its key.")

    # text
    default_language: str = Field("es", description="Language of documents that name none.")
    chunk_max_tokens: int = Field(256, ge=32, le=2048, description="Most tokens in a chunk.")
    chunk_overlap_tokens: int = Field(32, ge=0, le=512, description="Tokens that neighbouring chunks share.")

    parse_timeout_seconds: float = Field(
        10.0, gt=0, le=600, description="CPU time for reading a file, and a second more for each 100 kB of it."
    )
    parse_memory_mb: int = Field(1024, ge=256, le=65_536, description="Most memory of a process that reads files.")
    parse_processes: int = Field(2, ge=1, le=64, description="Processes that read files at once.")
    ocr: OcrMode = Field(
        OcrMode.AUTO, description="auto: recognise scanned pages if the extra `ocr` is installed; off."
    )

    # service
    host: str = Field("127.0.0.1", description="Address to listen on; without a key, a loopback one only.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    workers: int = Field(1, ge=1, le=64, description="Processes that answer requests; one more makes vectors.")
    request_timeout_seconds: float = Field(5.0, gt=0, le=600, description="Longest request that is not a stream.")
    max_body_bytes: int = Field(1024 * 1024, ge=1024, description="Largest JSON body.")
    max_file_bytes: int = Field(20 * 1024 * 1024, ge=1024, description="Largest file.")
    max_query_characters: int = Field(2000, ge=1, le=100_000, description="Longest query.")
    max_limit: int = Field(50, ge=10, le=1000, description="Most results of one page.")
    max_hybrid_search_results: int | None = Field(None, ge=10, le=1000, description="Another name of MAX_LIMIT.")
    max_json_depth: int = Field(32, ge=4, le=128, description="Deepest nesting of a JSON body.")
    max_metadata_bytes: int = Field(16_384, ge=2, le=1024 * 1024, description="Largest metadata of a document or item.")
    max_filter_conditions: int = Field(20, ge=1, le=200, description="Most conditions of a filter.")
    allowed_hosts: str = Field(
        "", description="Names that a Host header may have, with commas between; empty: loopback's, on loopback only."
    )
    cors_origins: str = Field("", description="Origins of other pages that may call, with commas between; * is any.")
    cors_credentials: bool = Field(False, description="Let those pages send cookies and keys that a browser holds.")
    shutdown_grace_seconds: float = Field(
        10.0, gt=0, le=600, description="How long open requests and streams may take to end when the service stops."
    )
    write_timeout_seconds: float = Field(
        20.0, gt=0, le=600, description="How long a client may leave a response unread before its connection is cut."
    )
    max_concurrent_requests: int | None = Field(
        None, ge=1, le=1000, description="Requests that work at once; unset: two fewer than connections."
    )
    admission_wait_seconds: float = Field(1.5, ge=0, le=60, description="How long a request waits to be one of them.")
    max_streams: int = Field(100, ge=1, le=10_000, description="Streams that are open at once.")

    # keys
    keys_secret: SecretStr = Field(
        SecretStr(""), description="Secret under which keys are stored as HMACs; unset: one that the database made."
    )
    key_cache_seconds: float = Field(
        5.0, ge=0, le=300, description="How long a key that was looked up is trusted: a revoked one ends so late."
    )
    rate_limit_per_minute: int = Field(1200, ge=0, le=1_000_000, description="Requests of one key a minute; 0: any.")
    rate_limit_burst: int = Field(200, ge=1, le=100_000, description="Requests of one key at once before that counts.")
    key_concurrency: int = Field(32, ge=1, le=10_000, description="Requests of one key that are open at once.")
    daily_token_budget: int = Field(
        0, ge=0, le=10**12, description="Tokens of language models that one key may use a day (UTC); 0: any."
    )

    # observation
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least severe log line.")
    log_format: Literal["text", "json"] = Field("text", description="Log lines for people or for machines.")
    enable_tracing: bool = Field(
        False, description="Export OpenTelemetry traces (extra `otel`; OTEL_EXPORTER_OTLP_ENDPOINT names where)."
    )

    # upkeep
    purge_deleted_after_days: float | None = Field(
        None, ge=0, le=36_500, description="Remove deleted documents for good after so many days; unset keeps them."
    )

    @model_validator(mode="before")
    @classmethod
    def _one_name(cls, given: dict[str, Any]) -> dict[str, Any]:
        for alias, name in ALIASES.items():
            if given.get(alias) is None:
                continue
            if given.get(name) is not None and not _equal(given[name], given[alias]):
                raise _invalid("are one setting and have two values: unset one", alias, name)
            given = {**given, name: given[alias]}
        return given

    @field_validator("openai_base_url", "rerank_url")
    @classmethod
    def _http_url(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("must start with http:// or https://")
        return value

    @field_validator("default_language")
    @classmethod
    def _language(cls, value: str) -> str:
        if value not in CODES:
            raise ValueError(f"must be {LIMIT}")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.embedding_provider is EmbeddingProvider.LOCAL and self.embedding != LOCAL_MODEL:
            raise _invalid(
                f"are those of the model that the local provider carries, {LOCAL_MODEL[0]} with {LOCAL_MODEL[1]} "
                "dimensions: unset them, or set EMBEDDING_PROVIDER=openai",
                "embedding_model",
                "embedding_dim",
            )
        if self.rerank_provider is RerankProvider.HTTP and self.rerank_url is None:
            raise _invalid("is needed by RERANK_PROVIDER=http: the address of a /rerank endpoint", "rerank_url")
        if self.chunk_overlap_tokens * 2 >= self.chunk_max_tokens:
            raise _invalid("must be below half of CHUNK_MAX_TOKENS", "chunk_overlap_tokens")
        return self

    @property
    def embedding(self) -> tuple[str, int] | None:
        """Name and width of the configured embedding model, or None where there is none."""
        match self.embedding_provider:
            case EmbeddingProvider.NONE:
                return None
            case EmbeddingProvider.LOCAL:
                default = LOCAL_MODEL
            case EmbeddingProvider.OPENAI:
                default = OPENAI_MODEL
        return self.embedding_model or default[0], self.embedding_dim or default[1]

    @property
    def local_caller(self) -> Caller:
        """The caller without a credential: the local user, in RAGCORP_WORKSPACE."""
        return Caller(principal=Principal(workspace=self.ragcorp_workspace), scopes=EVERY_SCOPE)

    @property
    def data_dir(self) -> Path:
        """The data folder: RAGCORP_DATA_DIR, else ``ragcorp`` in the user's data folder (XDG)."""
        if self.ragcorp_data_dir is not None:
            return self.ragcorp_data_dir.expanduser().absolute()
        base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
        return (Path(base) / "ragcorp").expanduser().absolute()


def load_settings(overrides: Mapping[str, Any] | None = None) -> Settings:
    """Read the environment, ``overrides`` first. Raises ConfigurationError that names the variables, not the values."""
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    unknown = given.keys() - Settings.model_fields.keys()
    if unknown:
        raise ConfigurationError(
            f"There is no setting called {', '.join(sorted(unknown))}.",
            field=", ".join(sorted(unknown)),
            remedy="`ragcorp config` lists them.",
        )
    try:
        return Settings(**given)
    except ValidationError as error:
        problems = {
            ".".join(map(str, item["loc"])): item["msg"].removeprefix("Value error, ")
            for item in error.errors(include_input=False, include_url=False)
        }
        for name in {ALIASES[name] for name in problems if name in ALIASES}:
            problems.pop(name, None)  # it has the alias's value
        raise ConfigurationError(
            f"The settings are not valid. {'; '.join(f'{name.upper()}: {text}' for name, text in problems.items())}.",
            field=", ".join(sorted(name.upper() for name in problems)),
            remedy=REMEDY,
        ) from None


def origin_of(name: str, overrides: Mapping[str, Any]) -> str:
    """Return ``argument``, ``environment`` or ``default``, with a used alias: ``environment: RRF_CONSTANT``."""
    for given in (name, *(alias for alias, real in ALIASES.items() if real == name)):
        also = "" if given == name else f": {given.upper()}"
        if overrides.get(given) is not None:
            return f"argument{also}"
        if any(key.lower() == given and value for key, value in os.environ.items()):
            return f"environment{also}"
    return "default"


def _equal(one: object, other: object) -> bool:
    """Return whether two values are the same number, or else the same text."""
    try:
        return float(str(one)) == float(str(other))
    except ValueError:
        return str(one).strip() == str(other).strip()


def _invalid(problem: str, *names: str) -> ConfigurationError:
    """Return the error of settings that contradict each other; pydantic's would name no field."""
    named = " and ".join(name.upper() for name in names)
    return ConfigurationError(
        f"The settings are not valid. {named} {problem}.",
        field=", ".join(name.upper() for name in names),
        remedy=REMEDY,
    )
