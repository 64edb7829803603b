"""One planned search: plan, fan-out, fusion, steps, page, explanation. No hydration, no roll-out."""
