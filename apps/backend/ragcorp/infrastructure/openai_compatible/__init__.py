"""Embedder, answerer, fact extractor and question rewriter over any OpenAI-compatible endpoint."""
