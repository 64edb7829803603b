"""Values, entities, errors and shared pure rules. Imports the standard library only."""
