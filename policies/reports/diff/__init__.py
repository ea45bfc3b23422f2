"""Comparisons of ``evenkeel diff``, one module per output format."""
