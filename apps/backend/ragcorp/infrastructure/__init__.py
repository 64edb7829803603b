"""One package per outside system. Implements ports; never imports the application."""
