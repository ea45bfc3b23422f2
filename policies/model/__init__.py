"""Kubernetes values as small frozen dataclasses, and what the API server demands of them."""
