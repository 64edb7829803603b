"""Durations that no setting changes."""

PARTS = 12
"""How long the files inside a file are read: so many times as long as one file takes CPU time."""

REWRITE_TIMEOUT_SECONDS = 5.0
"""After this time a question is rewritten without the model."""
