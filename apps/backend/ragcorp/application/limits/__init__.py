"""Rates, concurrent requests and token budgets. Counts and decides; knows no HTTP."""
