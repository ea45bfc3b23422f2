"""What is installed in a cluster: the chart, the kustomization, the image."""
