"""The policies of a server process, kept as files and the cluster have them; their status in the cluster."""
