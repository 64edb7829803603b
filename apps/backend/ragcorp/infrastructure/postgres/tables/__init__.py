"""The schema as SQLAlchemy tables. Alembic owns the database; these are checked against it."""
