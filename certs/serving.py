"""The TLS side of a running server: always the newest good pair, for every new connection.

``ServingContext.context`` is called once for a connection and looks at the files with two ``stat`` calls,
which cost microseconds next to the millisecond of a handshake; so a new certificate is served from the next
handshake on, and no thread has to watch. A changed pair is loaded into a fresh ``ssl.SSLContext``:
connections that are open keep the one they began with, and a bad pair never touches a live context.

Between looking and loading there is no gap: both files are read once, checked in memory, and exactly these
bytes are given to OpenSSL, which reads from files only, through a file that exists in memory alone.
"""

from __future__ import annotations

import os
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from certs import pem, store
from certs.errors import (
    CertificateError,
    MalformedError,
    MismatchedKeyError,
    NotYetValidError,
    UnreadableError,
)
from certs.keypair import KeyPair, parse_keypair

#: Nanoseconds after a file's last change within which a second change may leave its time stamp the same.
#: The coarsest stamps of file systems in use: two seconds (FAT); most have 4 ms or less.
RACY_WINDOW_NS = 2_000_000_000
#: The protocols offered in the handshake. The API server talks HTTP/1.1 to a Service.
ALPN_PROTOCOLS = ("http/1.1",)

#: What tells one state of a file from another: device, inode, size, times of content and of the inode.
FileStamp = tuple[int, int, int, int, int]


class Outcome(StrEnum):
    """What came of a look at changed files."""

    LOADED = "loaded"
    KEPT_LAST_GOOD = "kept_last_good"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingEvent:
    """A change of the files, and what the server made of it.

    Attributes:
        outcome: Whether the new pair is served or the old one still is.
        certificate: The certificate's file.
        names: The names of the certificate that is served now.
        not_before: When the certificate that is served now begins to be valid, UTC.
        not_after: When the certificate that is served now expires, UTC.
        fingerprint: SHA-256 of the certificate that is served now.
        reason: Why the last good pair was kept; empty when the new one was loaded.
    """

    outcome: Outcome
    certificate: Path
    names: tuple[str, ...]
    not_before: datetime
    not_after: datetime
    fingerprint: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Served:
    """A good pair, the digest of the files and the context that serves it."""

    pair: KeyPair
    digest: bytes
    context: ssl.SSLContext


def _now() -> datetime:
    return datetime.now(UTC)


class ServingContext:
    """Holds the context for a certificate file and a key file, and renews it when they change.

    With a file of client authorities a client is asked for a certificate: one of them must have signed it, or
    there is no connection; without one there is, and ``getpeercert`` tells.

    A new certificate that is not valid yet takes the place of a valid one only when its time has come: who
    made it may have had a wrong clock, and no client would accept it.

    Any number of threads may call ``context``. Symbolic links are followed, so a Kubernetes secret mount,
    which switches its ``..data`` link, is seen as a change of both files at once.
    """

    def __init__(
        self,
        certificate: Path,
        key: Path,
        *,
        client_authorities: Path | None = None,
        on_event: Callable[[ServingEvent], None] = lambda _event: None,
        now: Callable[[], datetime] = _now,
    ) -> None:
        """Load the pair; there must be a good one to begin with.

        Args:
            certificate: The file of the certificate and its chain.
            key: The file of its private key.
            client_authorities: The file of the authorities of client certificates; None to ask for none.
            on_event: Called once for every change, by the thread that saw it; also for the first load.
            now: The clock.

        Raises:
            CertificateError: The pair cannot be served, or the file of authorities holds none.
        """
        self._certificate = certificate
        self._key = key
        self._client_authorities = client_authorities
        self._files = (certificate, key, *((client_authorities,) if client_authorities else ()))
        self._on_event = on_event
        self._now = now
        # When files that were refused for their time are looked at again, though they have not changed.
        self._again_at: datetime | None = None
        self._lock = threading.Lock()
        stamps = self._stamps()
        self._served = self._serve(store.read_pair(certificate, key), self._read_authorities())
        # The files as they were when looked at; None means that the next call must look again.
        self._seen = stamps if _settled(stamps) else None
        self._told: tuple[bytes, str] = (b"", "")
        self._tell(self._served.digest, "")

    @property
    def pair(self) -> KeyPair:
        """The pair that the next connection gets, also where none has come since the files changed."""
        self.context()
        return self._served.pair

    def context(self) -> ssl.SSLContext:
        """Return the context for one new connection; never fails over what is in the files."""
        stamps = self._stamps()
        if self._again_at is not None and self._now() >= self._again_at:
            self._seen = None
        # Whoever finds the lock taken serves the last good pair: no handshake waits for another's disk.
        if (stamps is None or stamps != self._seen) and self._lock.acquire(blocking=False):
            try:
                self._refresh(stamps)
            finally:
                self._lock.release()
        return self._served.context

    def _refresh(self, stamps: tuple[FileStamp, ...] | None) -> None:
        """Look at the files, serve them if they are good, and tell it if that is news."""
        digest, problem, final, self._again_at = b"", "", True, None
        try:
            content = store.read_file(self._certificate), store.read_file(self._key)
            authorities = self._read_authorities()
            digest = _digest(*content, authorities)
            if digest != self._served.digest:
                pair = self._fitting(*content)
                self._check_begun(pair)
                self._served = self._serve(pair, authorities)
                digest = self._served.digest
        except NotYetValidError as error:
            problem, self._again_at = str(error), error.begins
        except CertificateError as error:
            problem = str(error)
            # The same files may be readable at the next try (permissions of a parent, too many open files).
            final = not isinstance(error, UnreadableError)
        self._seen = stamps if final and _settled(stamps) else None
        self._tell(digest, problem)

    def _check_begun(self, pair: KeyPair) -> None:
        """Make sure that a new pair is no worse than the one that is served.

        Raises:
            NotYetValidError: It is not valid yet, and the other one is valid.
        """
        now, served = self._now(), self._served.pair
        if pair.not_yet_valid(now) and not served.not_yet_valid(now) and not served.expired(now):
            raise NotYetValidError(
                f"{self._certificate}: not valid before {pair.not_before:%Y-%m-%d %H:%M} UTC; "
                "check the clock of who issued it",
                pair.not_before,
            )

    def _tell(self, digest: bytes, problem: str) -> None:
        if (digest, problem) == self._told:
            return
        self._told = (digest, problem)
        pair = self._served.pair
        self._on_event(
            ServingEvent(
                outcome=Outcome.KEPT_LAST_GOOD if problem else Outcome.LOADED,
                certificate=self._certificate,
                names=pair.names,
                not_before=pair.not_before,
                not_after=pair.not_after,
                fingerprint=pair.fingerprint,
                reason=problem,
            )
        )

    def _stamps(self) -> tuple[FileStamp, ...] | None:
        try:
            return tuple(map(_stamp, self._files))
        except OSError:
            return None

    def _fitting(self, certificate_pem: bytes, key_pem: bytes) -> KeyPair:
        """Return the pair of what was read; where it does not fit, a writer may be between the two files."""
        sources = {"certificate_source": str(self._certificate), "key_source": str(self._key)}
        try:
            return parse_keypair(certificate_pem, key_pem, **sources)
        except MismatchedKeyError:
            return store.read_pair(self._certificate, self._key)

    def _read_authorities(self) -> bytes:
        """Return the client authorities, empty if no client is asked.

        Raises:
            CertificateError: There is none in their file.
        """
        if self._client_authorities is None:
            return b""
        content = store.read_file(self._client_authorities)
        # What else people write into such a file is left behind.
        return pem.certificates_to_pem(*pem.parse_certificates(content, str(self._client_authorities)))

    def _serve(self, pair: KeyPair, authorities: bytes) -> _Served:
        """Make a context of a pair and the client authorities.

        Raises:
            MalformedError: OpenSSL refuses them.
            UnreadableError: The system has no room for it at the moment.
        """
        try:
            context = server_context(pair, authorities)
        except ssl.SSLError as error:
            raise MalformedError(
                f"{self._certificate}: OpenSSL refuses the pair: {error.reason}; issue a new one"
            ) from error
        except OSError as error:
            raise UnreadableError(f"{self._certificate}: cannot be loaded: {error.strerror}") from error
        return _Served(pair, _digest(pair.certificate_pem, pair.key_pem, authorities), context)


def server_context(pair: KeyPair, client_authorities: bytes = b"") -> ssl.SSLContext:
    """Return a context that serves a pair over TLS 1.2 and newer.

    Args:
        pair: The pair.
        client_authorities: PEM; who shows a certificate must have it from one of them. Empty to ask nobody.

    Raises:
        ssl.SSLError: OpenSSL refuses the pair.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A client could otherwise keep a worker busy with handshakes on one connection.
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(list(ALPN_PROTOCOLS))
    with _memory_file(pair.certificate_pem) as certificate, _memory_file(pair.key_pem) as key:
        context.load_cert_chain(certificate, key)
    if client_authorities:
        # Optional: the same port answers probes and people, who have none.
        context.verify_mode = ssl.CERT_OPTIONAL
        # Whatever the file holds is trusted, also an authority that another one has signed.
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=client_authorities.decode("ascii"))
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


def _digest(*contents: bytes) -> bytes:
    """Return what tells one state of the files from another; unlike their content it may be kept."""
    return b"".join(sha256(content).digest() for content in contents)


def _stamp(path: Path) -> FileStamp:
    found = os.stat(path)  # noqa: PTH116  # half the time of Path.stat, once for every connection
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _settled(stamps: tuple[FileStamp, ...] | None) -> bool:
    """Tell whether any later change must show in the stamps."""
    if stamps is None:
        return False
    newest = max(stamp[-1] for stamp in stamps)
    return time.time_ns() - newest > RACY_WINDOW_NS
