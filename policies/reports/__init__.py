"""Findings as text or as data, one module per output format."""
