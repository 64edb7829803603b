"""Turns files into text and cuts it into chunks. No storage."""
