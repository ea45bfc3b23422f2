"""Certificates of a cluster: a Secret that all replicas share, and whom the webhook configurations trust."""
