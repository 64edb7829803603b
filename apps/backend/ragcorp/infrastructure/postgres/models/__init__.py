"""Registered embedding models and their calibration."""
