"""Which pods to evict, or to have deleted first, so that a workload is within maxSkew."""
