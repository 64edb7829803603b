"""Pure services and one use case per file, by capability. Imports the domain and the standard library."""
