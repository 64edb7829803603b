"""Hybrid search of ragcorp, of other libraries and of bare SQL over the same rows, each in a process of its own."""
