"""The corpus and the implementations that it is run against: this engine, a command, an endpoint."""
