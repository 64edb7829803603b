"""Protocols that the application needs and infrastructure implements. Typed, small, no behaviour."""
