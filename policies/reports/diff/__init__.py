"""Comparisons of ``evenkeel upgrade``, one module per output format."""
