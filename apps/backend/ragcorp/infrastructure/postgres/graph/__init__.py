"""Stores and searches the knowledge graph."""
