"""Stores what each turn of an episode showed."""
