"""How every workload of a cluster is spread now, and what another release would change."""
