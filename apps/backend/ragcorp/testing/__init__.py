"""Conformance suites for authors of sources, embedders and answerers. Imports ports and values, no adapter."""
