"""POST /ask and GET /context."""
