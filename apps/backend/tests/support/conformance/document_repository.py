"""What the ports of documents must do. A subclass gives ``repository`` and the ``backlog`` that feeds its vectors."""

from __future__ import annotations

from support.conformance.document_repository_scores import DocumentScores
from support.conformance.document_repository_search import DocumentSearches
from support.conformance.document_repository_visibility import DocumentVisibility
from support.conformance.document_repository_writes import DocumentWrites


class DocumentRepositoryConformance(DocumentSearches, DocumentScores, DocumentVisibility, DocumentWrites):
    """All of its suites."""
