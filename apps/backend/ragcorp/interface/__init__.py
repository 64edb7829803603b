"""How the use cases are reached: library, HTTP, CLI, MCP, TUI. No interface imports another."""
