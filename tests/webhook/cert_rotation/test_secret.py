"""The Secret as an API server keeps it."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from certs.keyring import Keyring
from tests.certs.builders import CA, a_pair
from tests.webhook.cert_rotation.cluster import SECRET, Objects
from webhook.cert_rotation.cluster_objects import SecretStore
from webhook.kube.api_server import ApiError, ClusterError

KEYRING = Keyring(serving=a_pair(), ca=CA, trusted=(CA.certificate,))


def a_store(cluster: Objects) -> SecretStore:
    """Return the store of the tests' Secret."""
    return SecretStore(cluster, "evenkeel", "evenkeel-tls")


def test_what_is_not_there_is_made() -> None:
    """A Secret of the type that tools know, and what was written is read."""
    cluster = Objects()
    store = a_store(cluster)
    missing = store.read()
    made = store.write(missing, KEYRING)

    assert missing.keyring.problems == ("Secret evenkeel/evenkeel-tls does not exist",)
    assert KEYRING == made.keyring == store.read().keyring
    assert cluster.objects[SECRET]["type"] == "kubernetes.io/tls"


def test_what_others_wrote_stays() -> None:
    """Labels, annotations and type of a Secret are not ours to change."""
    cluster = Objects()
    cluster.put(SECRET, {"metadata": {"labels": {"team": "ops"}}, "type": "Opaque", "immutable": False})
    store = a_store(cluster)
    store.write(store.read(), KEYRING)
    stored = cluster.objects[SECRET]

    assert ("Opaque", {"team": "ops"}) == (stored["type"], stored["metadata"]["labels"])
    assert {key: base64.b64decode(value) for key, value in stored["data"].items()} == KEYRING.data()


@pytest.mark.parametrize("there", [False, True], ids=["0 Secrets before", "1 Secret before"])
def test_whoever_is_second_has_a_conflict(there: bool) -> None:  # noqa: FBT001  # a parameter of the table
    """Nobody overwrites what he has not read."""
    cluster = Objects()
    store = a_store(cluster)
    if there:
        store.write(store.read(), KEYRING)
    seen = store.read()
    a_store(cluster).write(seen, KEYRING)
    with pytest.raises(ApiError) as caught:
        store.write(seen, KEYRING)

    assert caught.value.conflict


@pytest.mark.parametrize(
    "rubbish",
    [
        pytest.param({}, id="0 fields"),
        pytest.param({"data": None}, id="null"),
        pytest.param({"data": {"tls.crt": "%%%", "ca.crt": "é", "tls.key": None}}, id="3 values"),
    ],
)
def test_rubbish(rubbish: dict[str, Any]) -> None:
    """It holds nothing, says so, and can be written."""
    cluster = Objects()
    cluster.put(SECRET, rubbish)
    store = a_store(cluster)
    found = store.read()

    assert found.keyring.serving is None
    assert "has no tls.crt" in found.keyring.problems[-1] + found.keyring.problems[1]
    assert KEYRING == store.write(found, KEYRING).keyring


def test_a_secret_of_cert_manager_is_refused() -> None:
    """Two who write one Secret would undo each other's work."""
    cluster = Objects()
    cluster.put(SECRET, {"metadata": {"annotations": {"cert-manager.io/certificate-name": "web"}}})

    with pytest.raises(ClusterError, match="--cert-dir"):
        a_store(cluster).read()


def test_what_is_stored_is_not_shown() -> None:
    """A Secret in a message or a traceback gives away nothing."""
    cluster = Objects()
    store = a_store(cluster)
    stored = store.write(store.read(), KEYRING)

    assert base64.b64encode(b"-----BEGIN PRIVATE").decode()[:20] not in repr(stored)
    assert "PRIVATE" not in repr(stored)


def test_a_secret_that_may_not_be_made() -> None:
    """Who may write the Secret of the installation alone learns that it must be applied again."""

    class Forbidding(Objects):
        def call(self, method: str, path: str, **keywords: Any) -> dict[str, Any]:
            if method == "POST":
                raise ApiError(403, 'cannot create resource "secrets"', reason="Forbidden")
            return super().call(method, path, **keywords)

    store = a_store(Forbidding())

    with pytest.raises(ClusterError, match="apply its installation again"):
        store.write(store.read(), KEYRING)
