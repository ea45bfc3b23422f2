"""The pods of workloads: the next one with its constraints, and what a snapshot has of those that run."""
