"""PostgreSQL with pgvector. One package per table family; every SQL statement of the product is below here."""
