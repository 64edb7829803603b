"""Stores memory and history items."""
