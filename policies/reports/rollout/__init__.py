"""Rollouts and scales, which ``evenkeel simulate`` and ``plan`` report, one module per output format."""
