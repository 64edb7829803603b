"""Rolls a new profile out to a share of queries and compares it in the shadow. Never changes a ranking itself."""
