"""Extracts entities (symbols, headings, clauses, codes) from documents."""
