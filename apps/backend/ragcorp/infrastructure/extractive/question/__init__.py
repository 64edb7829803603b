"""Parses a question: what kind of value it asks for. Pure."""
