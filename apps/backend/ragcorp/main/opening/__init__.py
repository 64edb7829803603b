"""Opens storage, sessions and the library; migrates and backs up."""
