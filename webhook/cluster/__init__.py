"""Where the picture of a cluster comes from."""
