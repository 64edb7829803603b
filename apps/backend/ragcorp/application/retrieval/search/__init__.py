"""The use case that answers one query: plan, fan-out, fusion, steps, page, explanation."""
