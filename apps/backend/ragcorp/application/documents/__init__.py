"""Use cases of documents and their chunks: ingest, revise, edit, list, delete, restore."""
