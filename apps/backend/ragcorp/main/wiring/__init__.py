"""The composition root: settings become objects. No rule of the product."""
