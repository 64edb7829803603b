"""Sparse search: full text, BM25 and text analysis."""
