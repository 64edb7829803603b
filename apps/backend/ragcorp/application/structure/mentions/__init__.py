"""Pure rules for what a query mentions: files, symbols, clauses and codes. No storage, clock or randomness."""
