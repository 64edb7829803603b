"""Descriptions of the tables that statements share; `alembic/versions` creates the tables."""
