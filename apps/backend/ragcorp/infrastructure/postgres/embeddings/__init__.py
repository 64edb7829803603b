"""Vectors of stored texts: backlogs, cache and re-embedding. No search."""
