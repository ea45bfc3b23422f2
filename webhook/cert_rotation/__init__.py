"""Rotates the certificates of a cluster: a Secret that all replicas share, and the webhooks' caBundles."""
