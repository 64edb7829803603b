"""Answers as JSON documents for HTTP, MCP and CLI: typed dicts and the functions that fill them. No use case runs here.

mypy checks each typed dict, pydantic describes it for OpenAPI and MCP, and nothing validates it at run time.
"""
