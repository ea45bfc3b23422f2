"""The loss of domains: what a cluster or some workloads are left with, and when it has recovered."""
