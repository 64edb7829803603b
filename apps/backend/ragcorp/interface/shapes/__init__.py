"""Answers as JSON documents for HTTP, MCP and CLI: typed dicts and the functions that fill them. No use case runs here.

mypy checks the typed dicts that are written out; ``values.filled`` copies fields by name, and raises for a missing one.
pydantic describes all of them for OpenAPI and MCP, and nothing validates them at run time.
"""
