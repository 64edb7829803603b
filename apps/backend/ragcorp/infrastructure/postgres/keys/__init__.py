"""Stores API keys and token usage."""
