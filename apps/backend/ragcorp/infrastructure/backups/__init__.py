"""Backs a database up into one file and restores it."""
