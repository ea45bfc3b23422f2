"""Client certificates, and how logs name a client."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from certs.ca import create_ca
from certs.keypair import KeyPair
from tests.certs.builders import CA, NOW, a_client
from tests.webhook.running import REVIEW, Server, ask, serving
from webhook.listener import shown_address

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that asks for certificates of an authority."""
    folder = tmp_path_factory.mktemp("asking")
    (folder / "clients").write_bytes(CA.certificate_pem)
    with serving(folder, f"--client-ca={folder / 'clients'}") as running:
        yield running


def showing(server: Server, folder: Path, client: KeyPair) -> Server:
    """Return the same server for a client that shows a certificate."""
    (folder / "client").write_bytes(client.certificate_pem + client.key_pem)
    context = ssl.create_default_context(
        cadata=ssl.DER_cert_to_PEM_cert(server.context.get_ca_certs(binary_form=True)[0])
    )
    context.load_cert_chain(folder / "client")
    return replace(server, context=context)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(REVIEW, id="a small one"),
        pytest.param(REVIEW + b" " * 100_000, id="100,000 bytes more"),
    ],
)
def test_reviews_need_a_certificate(asking: Server, tmp_path: Path, body: bytes) -> None:
    """Who shows one gets an answer, again and again on a connection; who does not is told why."""
    connection = showing(asking, tmp_path, a_client()).connect()
    known = [ask(connection, "POST", "/mutate", body=body, content_type="application/json") for _ in range(2)]
    connection.close()
    unknown = asking.ask("POST", "/validate", body=body, content_type="application/json")

    assert [200, 200, 403] == [answer.status for answer in (*known, unknown)]
    assert "--client-ca" in unknown.json()["error"]


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
def test_other_routes_need_none(asking: Server, path: str) -> None:
    """Probes and Prometheus have no certificate of that authority."""
    assert 200 == asking.ask("GET", path).status


def test_a_certificate_of_somebody_else(asking: Server, tmp_path: Path) -> None:
    """It ends the connection, whatever is asked for."""
    stranger = showing(asking, tmp_path, a_client(ca=create_ca(NOW)))
    with pytest.raises((ssl.SSLError, ConnectionError)):
        stranger.ask("GET", "/livez")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        pytest.param(("10.0.0.1", 54480), "10.0.0.1:54480", id="IPv4"),
        pytest.param(("fe80::1", 443, 0, 2), "[fe80::1]:443", id="IPv6"),
        pytest.param("", "", id="no address, of a socket of this machine"),
    ],
)
def test_address(address: object, expected: str) -> None:
    """Logs have a client's address as everybody writes it."""
    assert expected == shown_address(address)
