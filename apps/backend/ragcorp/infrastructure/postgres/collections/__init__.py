"""Search over the collections, their candidates and counts. Writes are in items and documents."""
