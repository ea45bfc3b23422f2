"""What comes of all that two sets of manifests differ in."""
