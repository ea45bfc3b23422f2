"""What admission decides about one object: errors, warnings, default constraints."""
