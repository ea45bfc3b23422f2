"""Measures all the time how the workloads of a followed cluster are spread, in the replica that leads."""
