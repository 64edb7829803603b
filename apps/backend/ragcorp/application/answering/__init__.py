"""Turns search results into a cited answer or an abstention, and keeps conversations. No model client."""
