"""The TLS side of a running server: always the newest good pair, for every new connection.

``ServingContext.context`` is called once for a connection and reads the files, which costs tens of
microseconds next to the millisecond of a handshake; so a new certificate is served from the next handshake
on, and no thread has to watch. A changed pair is loaded into a fresh ``ssl.SSLContext``: open connections
keep the one they began with, and a bad pair never touches a live context.

What was read is checked in memory, and exactly that is given to OpenSSL, which reads from files only, through
a file that exists in memory alone.
"""

from __future__ import annotations

import os
import ssl
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from certs import keypair, store
from certs.errors import CertificateError, UnreadableError
from certs.keypair import KeyPair, parse_keypair

#: Gets the pair that is served now, and why a new one is not; empty where the new one is.
OnChange = Callable[[KeyPair, str], None]


def _now() -> datetime:
    return datetime.now(UTC)


class ServingContext:
    """Holds the context for a certificate file and a key file, and renews it when they change.

    With a file of client CAs a client is requested to send a certificate: one of them must have signed it,
    or there is no connection; a client without one is served, and ``getpeercert`` shows it.

    A new certificate that is not valid yet replaces a valid one only when its time has come: its issuer may
    have had a wrong clock, and no client would accept it.

    Any number of threads may call ``context``. The files of a Kubernetes Secret mount, which switches its
    ``..data`` link, change at once, and so do those that ``certs.store`` writes.
    """

    def __init__(
        self,
        certificate: Path,
        key: Path,
        *,
        client_ca: Path | None = None,
        on_change: OnChange = lambda _pair, _problem: None,
        now: Callable[[], datetime] = _now,
    ) -> None:
        """Load the pair; there must be a good one to begin with.

        Args:
            certificate: The file of the certificate and its chain.
            key: The file of its private key.
            client_ca: The file of the CAs of client certificates; None to request none.
            on_change: Called once for every change, by the thread that saw it; also for the first load.
            now: The clock.

        Raises:
            CertificateError: The pair cannot be served, or the file of client CAs holds none.
        """
        self._certificate, self._key, self._client_ca = certificate, key, client_ca
        self._on_change = on_change
        self._now = now
        self._lock = threading.Lock()
        # The content of the files that was loaded or refused; None to try again.
        self._seen: tuple[bytes, ...] | None = None
        # When content that was refused for its time is tried again.
        self._again_at: datetime | None = None
        self._pair, self._context, self._client_cas = self._load(self._read())
        self._reported: object = None
        self._report("")

    @property
    def pair(self) -> KeyPair:
        """The pair that the next connection gets, also where none has come since the files changed."""
        self.context()
        return self._pair

    def context(self) -> ssl.SSLContext:
        """Return the context for one new connection; never fails over what is in the files."""
        # Where another thread is loading, this one serves the last good pair: no handshake waits for it.
        if self._lock.acquire(blocking=False):
            try:
                self._refresh()
            finally:
                self._lock.release()
        return self._context

    def _refresh(self) -> None:
        """Read the files, and serve their content if it is new and good."""
        problem = ""
        try:
            content = self._read()
            due = self._again_at is not None and self._now() >= self._again_at
            if content == self._seen and not due:
                return
            self._seen, self._again_at = content, None
            loaded = self._load(content)
            if self._is_premature(pair := loaded[0]):
                self._again_at = pair.not_before
                problem = f"{self._certificate}: not valid before {pair.not_before:%Y-%m-%d %H:%M} UTC"
            else:
                self._pair, self._context, self._client_cas = loaded
        except CertificateError as error:
            problem = str(error)
            if isinstance(error, UnreadableError):
                self._seen = None
        self._report(problem)

    def _read(self) -> tuple[bytes, ...]:
        """Return the content of all files.

        Raises:
            UnreadableError: One cannot be read.
        """
        files = (self._certificate, self._key, self._client_ca)
        return store.read_files(*filter(None, files))

    def _is_premature(self, pair: KeyPair) -> bool:
        """Return whether a new pair is not valid yet, where the one that is served is."""
        now, served = self._now(), self._pair
        return pair.not_yet_valid(now) and not served.not_yet_valid(now) and not served.expired(now)

    def _load(self, content: tuple[bytes, ...]) -> tuple[KeyPair, ssl.SSLContext, bytes]:
        """Return the pair and the client CAs in some content, with a context for both.

        Raises:
            CertificateError: It cannot be served.
        """
        certificate, key, *client_cas = content
        sources = {"certificate_source": str(self._certificate), "key_source": str(self._key)}
        pair = parse_keypair(certificate, key, **sources)
        # Whatever else people write into such a file is left out.
        parsed = [keypair.parse_certificates(text, str(self._client_ca)) for text in client_cas]
        bundle = b"".join(map(keypair.certificates_to_pem, parsed))
        try:
            return pair, server_context(pair, bundle), bundle
        except ssl.SSLError as error:
            raise CertificateError(
                f"{self._certificate}: OpenSSL refuses the pair: {error.reason}; issue a new one"
            ) from error
        except OSError as error:
            raise UnreadableError(f"{self._certificate}: cannot be loaded: {error.strerror}") from error

    def _report(self, problem: str) -> None:
        state = (self._pair, self._client_cas, problem)
        if state != self._reported:
            self._reported = state
            self._on_change(self._pair, problem)


def server_context(pair: KeyPair, client_cas: bytes = b"") -> ssl.SSLContext:
    """Return a context that serves a pair over TLS 1.2 and newer.

    Args:
        pair: The pair.
        client_cas: PEM; one of them must have signed a client's certificate. Empty to request none.

    Raises:
        ssl.SSLError: OpenSSL refuses the pair.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A client could otherwise keep a worker busy with handshakes on one connection.
    context.options |= ssl.OP_NO_RENEGOTIATION
    # The API server speaks HTTP/1.1 to a Service.
    context.set_alpn_protocols(["http/1.1"])
    with _memory_file(pair.certificate_pem) as certificate, _memory_file(pair.key_pem) as key:
        context.load_cert_chain(certificate, key)
    if client_cas:
        # Optional: the same port answers probes and people, who have none.
        context.verify_mode = ssl.CERT_OPTIONAL
        # Whatever the file holds is trusted, also a CA that another one has signed.
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=client_cas.decode("ascii"))
    return context


@contextmanager
def _memory_file(content: bytes) -> Iterator[str]:
    """Yield the path of a file that only this process can open and that is gone afterwards."""
    if sys.platform == "linux":
        with open(os.memfd_create("pair"), "wb") as file:  # noqa: PTH123  # a descriptor, not a path
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.NamedTemporaryFile() as file:  # mode 0600 from the start
            file.write(content)
            file.flush()
            yield file.name
