"""/graph: entities, facts, extraction."""
