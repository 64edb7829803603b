"""Entities of documents, their fingerprints, and the values of hydration. Values only."""
