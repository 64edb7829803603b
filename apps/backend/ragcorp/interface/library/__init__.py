"""The Python library: `ragcorp.open()` and what it returns."""
