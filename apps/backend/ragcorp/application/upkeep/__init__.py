"""Background maintenance: purging what has expired, and the progress of long tasks."""
