"""Runs evaluation sets through search and answers. Metrics themselves are in ragcorp.evaluation."""
