"""Answers of ``evenkeel survive``, one module per output format."""
