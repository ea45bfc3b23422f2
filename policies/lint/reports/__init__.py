"""Runs of ``evenkeel lint``, one module per output format."""
