"""Use cases of API keys: create, list, revoke, authenticate."""
