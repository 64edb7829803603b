"""PostgreSQL with pgvector: one package per table family, and every SQL statement of the product.

The SQL functions that the statements call are in ``alembic/versions``.
"""
