"""The terminal UI. Calls use cases through three ports."""
