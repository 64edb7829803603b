"""Pure steps after fusion: decay, deduplication, visibility, reranking, diversification, neighbours. No I/O."""
