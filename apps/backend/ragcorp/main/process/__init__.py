"""Logs and standard streams of the process. Knows no use case."""
