"""Finds, refreshes and relates the entities of documents. No hydration budgets."""
