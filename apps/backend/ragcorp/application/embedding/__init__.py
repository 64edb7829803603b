"""Embeds queries and stored texts, works off the backlog, and changes the model. No ranking."""
