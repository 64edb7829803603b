"""Words, values and ranges as the answerer reads them. Pure."""
