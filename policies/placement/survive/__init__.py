"""What the loss of any one domain does to workloads, and what would help."""
