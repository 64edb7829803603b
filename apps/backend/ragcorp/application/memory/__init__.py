"""Use cases of items in memory and history, and the memory briefing. No embedding, no ranking."""
