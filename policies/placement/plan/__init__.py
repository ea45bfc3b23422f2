"""The effect of a change of manifests on where pods go."""
