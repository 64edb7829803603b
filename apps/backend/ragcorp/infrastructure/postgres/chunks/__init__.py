"""Chunk identities, rows and page texts. No search."""
