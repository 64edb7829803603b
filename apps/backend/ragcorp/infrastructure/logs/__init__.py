"""Log handlers, formats and redaction."""
