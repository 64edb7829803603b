"""The page, the API description, health and status."""
