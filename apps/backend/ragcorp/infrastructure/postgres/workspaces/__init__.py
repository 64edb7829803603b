"""Workspaces, their languages and search statistics."""
