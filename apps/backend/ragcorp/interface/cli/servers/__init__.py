"""serve, mcp, tui and demo."""
