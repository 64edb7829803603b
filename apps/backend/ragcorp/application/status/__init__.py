"""What the service reports about its own health."""
