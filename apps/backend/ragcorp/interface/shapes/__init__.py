"""Answers as JSON documents, shared by HTTP, MCP, CLI and library. No use case is called here."""
