"""How a query becomes one ranked list. Each sub-package is one part of that flow."""
