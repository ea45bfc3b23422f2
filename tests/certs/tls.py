"""A real TLS server and client on loopback sockets."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from certs.serving import ServingContext
from tests.waiting import PATIENCE_S


class EchoServer:
    """Sends every byte back, one thread for a connection, one ``context()`` for each of them."""

    def __init__(self, serving: ServingContext) -> None:
        self._serving = serving
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE_S)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                thread = threading.Thread(target=self._echo, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _echo(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE_S)
        # A client that does not like the certificate hangs up; that is what some tests are about.
        with (
            suppress(OSError),
            connection,
            self._serving.context().wrap_socket(connection, server_side=True) as tls,
        ):
            while data := tls.recv(1024):
                tls.sendall(data)


def connect(port: int, name: str, *, trust: Path, alpn: tuple[str, ...] = ()) -> ssl.SSLSocket:
    """Connect as a client that checks the certificate as strictly as OpenSSL can."""
    context = ssl.create_default_context(cafile=trust)
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    if alpn:
        context.set_alpn_protocols(list(alpn))
    plain = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    try:
        return context.wrap_socket(plain, server_hostname=name)
    except BaseException:
        plain.close()
        raise


def echoed(client: ssl.SSLSocket, data: bytes) -> bytes:
    """Return the server's answer."""
    client.sendall(data)
    return client.recv(1024)


def serial_number(client: ssl.SSLSocket) -> int:
    """Return the serial number of the certificate that the server showed."""
    certificate = client.getpeercert()
    assert certificate is not None
    serial = certificate["serialNumber"]
    assert isinstance(serial, str)
    return int(serial, 16)
