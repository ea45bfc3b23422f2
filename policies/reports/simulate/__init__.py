"""Simulations of ``evenkeel simulate``, one module per output format."""
