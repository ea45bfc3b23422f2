"""What a change of manifests does to where pods go."""
