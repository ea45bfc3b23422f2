"""An audit of ``evenkeel audit``, one module per output format."""
