"""GET /introspect/hydration."""
