"""What an abstention says, in the question's language."""

from __future__ import annotations

ABSTENTIONS = {
    "es": "No encuentro la respuesta en los documentos.",
    "en": "I cannot find the answer in the documents.",
    "pt": "Não encontro a resposta nos documentos.",
    "fr": "Je ne trouve pas la réponse dans les documents.",
    "it": "Non trovo la risposta nei documenti.",
    "de": "Ich finde die Antwort nicht in den Dokumenten.",
    "ca": "No trobo la resposta als documents.",
}


def abstention(language: str) -> str:
    """Return the sentence for an ISO 639-1 code, in Spanish for a language that is not listed."""
    return ABSTENTIONS.get(language, ABSTENTIONS["es"])
