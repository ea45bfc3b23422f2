"""PodTopologySpread: how it counts, filters and scores."""
