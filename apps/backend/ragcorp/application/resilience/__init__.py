"""Deadlines, circuit breakers and outage logs for calls that can fail. No retrieval or storage rules."""
