"""Retrieval sources over the repositories' ports. A source returns a ranked list; it neither fuses nor filters others."""
