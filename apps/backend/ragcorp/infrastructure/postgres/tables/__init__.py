"""The schema as SQLAlchemy tables (Alembic owns the database), and the tables of collections and vectors as SQL."""
