"""Stores and finds the entities of documents."""
