"""Cuts passages into statements, tables and facts. Pure."""
