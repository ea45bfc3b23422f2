"""Plans and deletion costs of ``evenkeel rebalance``, one module per output format."""
