"""What people ask of a cluster: changes of a copy of it are played, and what comes of them is told."""
