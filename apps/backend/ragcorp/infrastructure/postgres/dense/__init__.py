"""Dense search: pgvector cosine over HNSW, with an exact fallback."""
