"""The reranker port over HTTP servers with a /rerank endpoint."""
