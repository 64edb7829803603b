"""documents, ingest, embed, entities and artifacts."""
