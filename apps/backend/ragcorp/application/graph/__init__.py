"""Use cases of the knowledge graph: write, read, load and extract entities and facts."""
