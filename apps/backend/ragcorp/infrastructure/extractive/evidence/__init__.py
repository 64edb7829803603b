"""Weighs statements against a question and selects them."""
