"""Explanations of ``evenkeel explain``, one module per output format."""
