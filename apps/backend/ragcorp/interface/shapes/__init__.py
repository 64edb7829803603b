"""Responses of HTTP, MCP and CLI: typed dicts and the functions that fill them; nothing validates them at run time."""
