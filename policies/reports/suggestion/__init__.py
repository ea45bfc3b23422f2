"""Suggestions of ``evenkeel explain``, ``survive`` and ``simulate``, one module per output format."""
