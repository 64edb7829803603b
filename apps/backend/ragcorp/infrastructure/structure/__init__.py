"""Entities of documents: symbols of source code, and sections, clauses, articles and codes of other texts."""
