"""One simulation of a cluster, and what all questions need: next pods, and what a snapshot has of others."""
