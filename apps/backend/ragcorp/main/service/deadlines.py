"""The deadlines of requests."""

from ragcorp.infrastructure.sandbox.pool import WALL
from ragcorp.main.settings.durations import PARTS, REWRITE_TIMEOUT_SECONDS
from ragcorp.main.settings.schema import AnswerProvider, Settings

ASK_MARGIN_SECONDS = 1.0
GREP_MARGIN_SECONDS = 1.0
FILES_AHEAD = 1
"""Of the files that are read at once, those that one waits for after it has its turn."""


def grep_seconds(settings: Settings) -> float:
    """Return the deadline of a search in files, which ends earlier by itself with partial results."""
    return max(settings.request_timeout_seconds, settings.grep_timeout_seconds + GREP_MARGIN_SECONDS)


def reading_seconds(settings: Settings) -> float:
    """Return how long a file that is slow to read may take, with its parts and the one that is read before it."""
    return ((1 + FILES_AHEAD) * WALL + PARTS) * settings.parse_timeout_seconds


def ask_seconds(settings: Settings) -> float:
    """Return the deadline of a question: a language model may take longer than another request."""
    if settings.answer_provider is AnswerProvider.EXTRACTIVE:
        return settings.request_timeout_seconds
    answer_seconds = settings.search_timeout_seconds + settings.answer_timeout_seconds + ASK_MARGIN_SECONDS
    return max(settings.request_timeout_seconds, answer_seconds + REWRITE_TIMEOUT_SECONDS)
