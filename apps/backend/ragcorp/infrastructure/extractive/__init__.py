"""Answers without a language model: quotes the statements that bear a question out. Reads passages only."""
