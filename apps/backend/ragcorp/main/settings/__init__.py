"""The settings object and what is read from it. The only place that reads the environment."""
