"""Plans of ``evenkeel plan``, one module per output format."""
