"""Searches and reads files in place below the allowed roots. No stored documents."""
