"""POST /grep and POST /files/read."""
