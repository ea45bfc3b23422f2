"""No form of a request dodges a denial: generated forms of objects that must be denied, on an API server.

Each must be refused by somebody: by the webhook, or by the API server, which takes not all that are tried.
``EVENKEEL_E2E_FORMS`` is the number of requests.
"""

from __future__ import annotations

import http.client
import json
import os
import threading
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice

import pytest

from tests.e2e.control_plane import ApiClient, ControlPlane
from tests.e2e.installation import Installation
from tests.e2e.kubectl import Kubectl
from tests.e2e.test_admission import ROLLOUTS
from tests.security.forms import KINDS, MUTABLE, Form, an_object, forms, pod_spec

#: Requests for each failurePolicy, unless the environment says otherwise.
REQUESTS = int(os.environ.get("EVENKEEL_E2E_FORMS", "400")) // 2
#: Threads that send; each waits for its answer.
THREADS = 4
#: One object of so many is really stored, if nobody refuses it.
STORED_EVERY = 10
#: Characters of an argument of the stored objects whose updates are tried: with them, a review has megabytes.
LONG = 200_000


def _path(space: str, kind: str) -> str:
    version, _ = KINDS[kind]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{root}/namespaces/{space}/{kind.lower()}s"


class Sender:
    """Sends forms, and counts what becomes of them."""

    def __init__(self, control_plane: ControlPlane, space: str, tried: Iterator[Form]) -> None:
        self._control_plane = control_plane
        self._space = space
        self._tried = enumerate(tried)
        self._lock = threading.Lock()
        self.told = Counter[str]()
        self.dodged: list[str] = []
        self.unreviewable: list[str] = []

    def run(self) -> None:
        threads = [threading.Thread(target=self._send_all) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _send_all(self) -> None:
        with self._control_plane.client() as client:
            while True:
                with self._lock:
                    number, form = next(self._tried, (-1, None))
                if form is None:
                    return
                self._send(client, number, form)

    def _send(self, client: ApiClient, number: int, form: Form) -> None:
        path, method, text = _path(self._space, form.kind), "POST", form.text
        if form.kind in MUTABLE and number % 3 == 0:
            stored = "long" if number % 30 == 0 else "clean"
            path, method = f"{path}/{stored}", "PUT"
            text = text.replace(b'"name": "web"', f'"name": "{stored}"'.encode(), 1)
        else:
            text = text.replace(b'"name": "web"', f'"name": "web-{number}"'.encode(), 1)
        stores = number % STORED_EVERY == 1
        try:
            status, answer = client.send(method, path if stores else f"{path}?dryRun=All", text)
        except (OSError, http.client.HTTPException) as error:
            # What is too large for it, the API server does not read to its end.
            status, answer = 0, str(error).encode()
        with self._lock:
            told = _outcome(status, answer)
            self.told[told] += 1
            if told == "denied as unreviewable":
                self.unreviewable.append(form.name)
            if told == "stored":
                self.dodged.append(f"{number} {method} {form.name}")


def _outcome(status: int, answer: bytes) -> str:
    if not status:
        return "cut off by the API server"
    if status < 300:
        return "stored"
    message = str(json.loads(answer).get("message", ""))
    if "denied the request" not in message:
        return f"refused by the API server with {status}"
    return "denied as unreviewable" if "unreviewable" in message else "denied"


def _store_clean_ones(client: ApiClient, space: str, kinds: Collection[str]) -> None:
    for kind in MUTABLE:
        if kind not in kinds:
            continue
        for name in ("clean", "long"):
            obj = an_object(kind, name)
            if name == "long":
                pod_spec(obj)["containers"][0]["args"] = ["<" * LONG]
            client.call("POST", _path(space, kind), obj)


@pytest.mark.parametrize("policy", ["Ignore", "Fail"])
def test_no_form_dodges_a_denial(
    control_plane: ControlPlane, installed: Installation, kubectl: Kubectl, space: str, policy: str
) -> None:
    """Whoever finds a form in which the API server stores what must be denied has found a bug."""
    kubectl.do("apply", "-f", "-", stdin=ROLLOUTS)
    kubectl.do("wait", "--for=condition=Established", "crd/rollouts.argoproj.io", "--timeout=30s")
    # Before 1.21 there is no CronJob of batch/v1.
    kinds = tuple(kind for kind in KINDS if kind != "CronJob" or control_plane.version >= (1, 21))
    with control_plane.client() as client:
        _store_clean_ones(client, space, kinds)
    sender = Sender(control_plane, space, islice(forms(f"{policy} {REQUESTS}", kinds), REQUESTS))
    with installed.failing(policy):
        sender.run()
    # What the run came to, for pytest -rP.
    print(policy, dict(sender.told), sender.unreviewable[:20])  # noqa: T201

    assert [] == sender.dodged
    assert sender.told["denied"] > sender.told.total() // 3
