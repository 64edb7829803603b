"""One module per family of file formats: from a file to its text and what was left out of it."""
