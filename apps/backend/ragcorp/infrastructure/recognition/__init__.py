"""Reads the text in pictures of pages (OCR)."""
