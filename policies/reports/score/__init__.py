"""Scores of ``evenkeel score``, one module per output format."""
