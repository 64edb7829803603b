"""Backups of a whole database: one file with a manifest and a dump of pg_dump's, and back again."""
