"""Prometheus metrics and readiness."""
