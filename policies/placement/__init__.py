"""Where the next pods of a workload would go, and what would change that."""
