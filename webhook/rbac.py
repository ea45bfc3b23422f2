"""The names by which callers are authorized: of Evenkeel's own resources, of its tokens and of their header.

The server that authorizes, the client that calls and the doctor that checks the roles share them, and how
the API server reviews what a user may do.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

#: The audience of tokens that work here and not at the API server.
AUDIENCE: Final = "evenkeel"
#: The header for the token of a caller whose ``Authorization`` is for the API server's proxy: the proxy keeps
#: that header for itself and passes on all others.
PROXIED_HEADER: Final = "X-Evenkeel-Authorization"
#: The namespace where Evenkeel is by default.
DEFAULT_NAMESPACE: Final = "evenkeel"
#: The Service of Evenkeel by default.
DEFAULT_SERVICE: Final = "evenkeel"
#: Where the API server reviews what a user may do.
ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
#: The API group of every ``Resource``.
GROUP: Final = "evenkeel.dev"


class Resource(StrEnum):
    """The resource that a route needs access to, as RBAC rules name it in ``GROUP``.

    No API server has these resources, so a right to them is worth nothing there. Rights to paths
    (``nonResourceURLs``) would not do: they hold for the API server's own ``/metrics`` as well.
    """

    PLACEMENTS = "placements"
    LINT_REPORTS = "lintreports"
    METRICS = "metrics"


def api_service(service: str) -> str:
    """Return the Service of the pods that answer ``/v1``, of an installation named by that of reviews."""
    return f"{service}-api"


def proxied(service: str) -> str:
    """Return that Service as the proxy names it: scheme, name, port. Rights are granted on all of it."""
    return f"https:{api_service(service)}:https"


def account_of(service: str) -> str:
    """Return the service account in whose name users call the Evenkeel behind a Service."""
    return f"{service}-client"


def access_review(user: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a SubjectAccessReview.

    Args:
        user: Who: ``user``, ``groups`` and so on.
        attributes: What: ``resourceAttributes`` or ``nonResourceAttributes``.
    """
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {**user, **attributes},
    }
