"""The command `ragcorp`."""
