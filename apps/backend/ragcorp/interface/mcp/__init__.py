"""The MCP server: tools, sessions, status messages."""
