"""Background maintenance: purging expired data, and the progress of long tasks."""
