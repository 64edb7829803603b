"""Runs the HTTP and MCP service: server, shutdown, readiness, logs."""
