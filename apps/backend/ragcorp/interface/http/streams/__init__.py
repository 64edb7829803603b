"""Event and line streams with bounded buffers."""
