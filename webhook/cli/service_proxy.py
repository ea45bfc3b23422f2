"""Sends requests to the Evenkeel of a cluster, through the API server's proxy of its Service.

No port-forward is needed, and the user's own credentials do not go to Evenkeel: the API server takes them for
itself, and makes a token that says no more than "may ask Evenkeel", for ten minutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

import orjson

from policies.manifests.errors import DocumentError
from policies.manifests.fields import text_member
from webhook.kube.api_server import Answer, ApiError, ApiServer, ClusterError
from webhook.rbac import AUDIENCE, DEFAULT_SERVICE, PROXIED_HEADER, account_of, proxied

#: Seconds for which a token is requested; the API server gives none for less.
_TOKEN_S: Final = 600
#: Seconds after which another is requested; half of its time, whatever the clocks say.
_RENEW_AFTER_S: Final = _TOKEN_S / 2
#: Seconds for an answer: an explanation on 150,000 pods takes some, a queue before it as many.
_TIMEOUT_S: Final = 60.0


class NotInstalledError(ClusterError):
    """There is no Evenkeel in the namespace, or one that does not have the route."""


class Installation:
    """The Evenkeel of a cluster, called with a token of its own."""

    def __init__(
        self,
        api: ApiServer,
        namespace: str,
        *,
        service: str = DEFAULT_SERVICE,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the way there; nothing is sent yet.

        Args:
            api: The cluster's API server.
            namespace: Where Evenkeel is.
            service: Its Service.
            now: The clock, in seconds.
        """
        self._api = api
        self._namespace = namespace
        self._service = service
        self._now = now
        self._token = ""
        self._renew_at = 0.0

    def post(self, route: str, body: bytes, *, accept: str, query: Mapping[str, str] | None = None) -> Answer:
        """Send a request to a route and return the answer, which is one of success.

        Args:
            route: The path of the route, such as ``/v1/explain``.
            body: JSON.
            accept: The media type of the answer.
            query: The query of the URL.

        Raises:
            NotInstalledError: There is no Evenkeel, or none with that route.
            DocumentError: Evenkeel cannot answer such a request; every problem is a line.
            ApiError: The API server or Evenkeel refuses; says what to do about it.
            UnreachableError: There is no answer.
        """
        path = f"/api/v1/namespaces/{self._namespace}/services/{proxied(self._service)}/proxy{route}"
        headers = {
            "Accept": accept,
            PROXIED_HEADER: f"Bearer {self._fresh_token()}",
        }
        sent = orjson.loads(body)
        answer = self._api.send("POST", path, params=query, body=sent, headers=headers, timeout_s=_TIMEOUT_S)
        if not answer.ok:
            raise self._error(answer)
        if answer.headers.get("content-type", "").partition(";")[0] != accept:
            text = f"answers no {accept}: is it of another release?"
            raise ApiError(answer.status, f"{self._title}: {text}")
        return answer

    @property
    def _title(self) -> str:
        return f"Evenkeel in namespace {self._namespace}"

    def _fresh_token(self) -> str:
        """Return a token in the name of a service account that Evenkeel takes and the API server does not."""
        if not self._token or self._now() >= self._renew_at:
            account = f"/api/v1/namespaces/{self._namespace}/serviceaccounts/{account_of(self._service)}"
            spec = {"audiences": [AUDIENCE], "expirationSeconds": _TOKEN_S}
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
            try:
                made = self._api.call("POST", f"{account}/token", body=body)
            except ApiError as error:
                raise self._refused(error) from error
            self._token = text_member(made.get("status"), "token")
            self._renew_at = self._now() + _RENEW_AFTER_S
        return self._token

    def _error(self, answer: Answer) -> Exception:
        """Return the error of an answer, which is the API server's or Evenkeel's."""
        found = answer.json_object()
        if found.get("kind") == "Status" or "error" not in found:
            return self._refused(answer.error())
        if answer.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE):
            details = [f"{entry['field']}: {entry['message']}" for entry in found.get("details") or ()]
            return DocumentError(f"{self._title}: {line}" for line in details or [found["error"]])
        if answer.status == HTTPStatus.NOT_FOUND:
            return NotInstalledError(f"{self._title} is of another release: {found['error']}")
        return ApiError(answer.status, f"{self._title}: {found['error']}")

    def _refused(self, error: ApiError) -> ClusterError:
        """Return the error for the API server's own refusal."""
        if error.not_found:
            return NotInstalledError(
                f"{self._title} is not installed, or not its API (api.enabled of the chart): {error}"
            )
        if error.forbidden:
            text = (
                f"to use {self._title}, have create granted there on serviceaccounts/token "
                f"{account_of(self._service)} and on services/proxy {proxied(self._service)}, as its Role "
                f"{account_of(self._service)} does; if you may read the cluster yourself: "
                "evenkeel snapshot -o cluster.json, and --cluster cluster.json"
            )
            return ApiError(error.status, f"{error}; {text}", reason=error.reason)
        return ApiError(error.status, f"{self._title} does not answer: {error}", reason=error.reason)
