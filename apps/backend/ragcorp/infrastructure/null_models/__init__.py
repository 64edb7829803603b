"""Null objects for models that are not configured."""
