"""OpenTelemetry traces."""
