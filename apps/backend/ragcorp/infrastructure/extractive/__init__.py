"""Answers without a language model: quotes the statements of the passages that answer a question."""
