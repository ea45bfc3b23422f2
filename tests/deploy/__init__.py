"""Tests of an installation in a cluster: the chart, the kustomization, the image."""
