"""A service of several processes: their supervisor, the workers that answer, and the one that works in background."""
