"""The engine of this program as one of the implementations that the corpus is run against."""

from __future__ import annotations

from conformance.case import Operation
from conformance.implementation import DeclinedError
from planning.explain import score_json
from planning.what_if import simulate_json
from policies.config.context import AdmissionContext
from policies.pods.known_pods import UNREAD_PODS
from webhook.requests.frame import RequestError
from webhook.requests.score import place_request
from webhook.requests.simulate import simulate_request

#: A server without policies and without a cluster.
_SERVER = AdmissionContext(policies=())


class Engine:
    """Answers as ``evenkeel score --jsonl`` and ``evenkeel simulate --jsonl`` do."""

    title = "this engine"
    operations = frozenset(Operation)

    def answer(self, operation: Operation, request: bytes) -> bytes:
        """Return the answer; see ``Implementation``."""
        try:
            if operation is Operation.SIMULATE:
                return simulate_json.render(simulate_request(request, _SERVER, UNREAD_PODS))
            return score_json.render(place_request(request, _SERVER))
        except RequestError as error:
            raise DeclinedError("; ".join(map(str, error.errors)) or error.message) from error

    def close(self) -> None:
        """Do nothing: nothing was started."""
