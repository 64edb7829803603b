"""The configuration for people."""

from ragcorp.interface.cli.console.services import Facts
from ragcorp.main.settings.rows import masked_dsn
from ragcorp.main.settings.schema import AnswerProvider, Settings


def facts_of(settings: Settings) -> Facts:
    model = settings.embedding
    extractive = settings.answer_provider is AnswerProvider.EXTRACTIVE
    return Facts(
        storage=(
            f"embedded PostgreSQL in {settings.data_dir}"
            if settings.database_url is None
            else masked_dsn(settings.database_url.get_secret_value())
        ),
        hybrid=settings.enable_hybrid_search,
        embedding=(
            f"{settings.embedding_provider.value}: {model[0]}, {model[1]} dimensions" if model else "none: text alone"
        ),
        answers="extractive: quoted sentences" if extractive else f"openai: {settings.answer_model}",
    )
