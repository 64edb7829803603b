"""Migrations, readiness, row-level security and inspection of the server. Never on a request's path."""
