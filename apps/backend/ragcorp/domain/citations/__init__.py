"""Pure rules for citations: which quotations a text bears out, and how quotations are cut."""
