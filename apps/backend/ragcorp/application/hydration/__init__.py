"""Fills a turn of an episode with entities within a token budget, and explains the plan afterwards."""
