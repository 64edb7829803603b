"""Searches, reads and watches files below the allowed roots. Opens nothing outside of them."""
