"""Retrieval sources over the ports of repositories. A source returns ranked lists; it does not fuse them."""
