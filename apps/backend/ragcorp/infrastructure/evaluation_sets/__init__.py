"""Reads evaluation sets, writes runs and plots. Metrics are in ragcorp.evaluation."""
