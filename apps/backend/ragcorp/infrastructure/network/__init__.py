"""Outgoing HTTP: which addresses models may be reached at, and the guarded transport."""
