"""POST /search."""
