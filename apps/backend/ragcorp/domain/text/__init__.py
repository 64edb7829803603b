"""Pure rules about words, names and numbers in text, shared by every ring. No I/O, clock or randomness."""
