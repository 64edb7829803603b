"""Runs, judgements, metrics and bootstrap intervals. Pure but for a seeded random generator."""
