"""Admission decisions about one object: errors, warnings, default constraints."""
