"""Checks and normalises what callers send before it reaches a use case. Pure; no storage."""
