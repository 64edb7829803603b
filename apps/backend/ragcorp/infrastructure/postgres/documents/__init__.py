"""Stores, reads and deletes documents with their chunks."""
