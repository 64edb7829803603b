"""PUT, GET, PATCH and DELETE /documents, and bulk ingestion."""
