"""Whose an API group is."""

from __future__ import annotations


def is_of_kubernetes(group: str) -> bool:
    """Return whether a group is Kubernetes' own, so that its kinds are those that the API server validates.

    >>> [is_of_kubernetes(group) for group in ("", "apps", "networking.k8s.io", "serving.knative.dev")]
    [True, True, True, False]
    """
    return "." not in group or group.endswith(".k8s.io")
