"""How Evenkeel talks: HTTP, the cluster and the terminal."""
