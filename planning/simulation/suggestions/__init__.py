"""Changes that would help, each tried in the simulation."""
