"""search, ask, context, grep, read and introspect."""
