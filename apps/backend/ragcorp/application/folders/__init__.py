"""Keeps stored documents in step with folders on disk."""
