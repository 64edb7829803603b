"""The port LanguageDetector over py3langid (Lui and Baldwin: langid.py, ACL 2012)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

LANGUAGES = ("ca", "de", "en", "es", "fr", "it", "pt")
CONFIDENCE = 0.9
"""Below this probability a text (a code, a name, an acronym) is taken to be in the default language."""


class LangidDetector:
    """Tells the languages of the content apart; short or odd texts count as the default language."""

    def __init__(self, *, default: str = "es") -> None:
        self._default = default

    def detect(self, text: str) -> str:
        language, probability = _identifier().classify(text)
        return str(language) if probability >= CONFIDENCE else self._default


@cache
def _identifier() -> LanguageIdentifier:
    """Return the model, which takes a second to load and never changes: once for the process."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(LANGUAGES))
    return identifier
