"""Cluster Autoscaler: which nodes it adds for pods that are pending."""
