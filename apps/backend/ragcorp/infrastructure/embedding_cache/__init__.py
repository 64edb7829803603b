"""Caches of vectors in memory and on disk, and the checks on vectors that models return. No SQL."""
