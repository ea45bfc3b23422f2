"""Advice of ``evenkeel advise``, one module per output format."""
