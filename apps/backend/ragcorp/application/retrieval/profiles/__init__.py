"""Retrieval profiles: which sources and steps run with which parameters. Pure."""
