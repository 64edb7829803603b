"""collections, memory and history."""
