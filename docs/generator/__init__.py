"""Writes what the documentation takes from the code: the reference, and the output that examples show."""
