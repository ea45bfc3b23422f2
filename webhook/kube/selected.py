"""Looks in an API server for an object that a label selector selects."""

from __future__ import annotations

from collections.abc import Iterable

from policies.model.labels import LabelSelector
from webhook.kube.api_server import ApiServer


def selects_any(api: ApiServer, paths: Iterable[str], selector: LabelSelector) -> bool:
    """Return whether one of some lists has an object that is selected; the API server looks.

    Raises:
        ClusterError: A list cannot be read.
    """
    params = {"labelSelector": str(selector), "limit": "1"}
    return any(api.call("GET", path, params=params).get("items") for path in paths)
