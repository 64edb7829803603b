"""Scanned pages: the queue of text recognition, and its results."""
