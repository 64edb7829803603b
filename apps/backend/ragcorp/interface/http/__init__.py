"""The REST service: the app, its OpenAPI description and what it needs."""
