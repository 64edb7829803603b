"""Settings, composition root and entry points. The only ring that knows all others."""
