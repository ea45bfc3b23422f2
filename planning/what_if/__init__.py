"""What comes of a changed workload, nodes or release, as text and as data."""
