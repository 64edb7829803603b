"""The embedding model that runs in process."""
