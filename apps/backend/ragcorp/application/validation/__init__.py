"""Checks and normalises callers' input before it reaches a use case. Pure; no storage."""
