"""The PodTopologySpread plugin: how it counts, filters and scores."""
