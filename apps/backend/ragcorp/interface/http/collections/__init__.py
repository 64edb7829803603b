"""/collections and their items."""
