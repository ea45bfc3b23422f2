"""Certificates that change under a running server."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

from certs.ca import create_ca, issue
from certs.errors import CertificateError, MismatchedKeyError, UnreadableError
from certs.keypair import KeyPair, parse_keypair
from certs.keyring import CA_CERTIFICATE, FILE_NAMES, SERVING_CERTIFICATE, SERVING_KEY
from certs.names import parse_hosts
from certs.serving import ServingContext
from tests.certs.builders import (
    CA,
    DAY,
    NOW,
    a_client,
    a_folder,
    a_pair,
    replace_serving,
    signed_by,
    writing_of,
)
from tests.certs.tls import EchoServer, connect, echoed, serial_number

#: The key pair that is served after a change, and why none that is newer.
Change = tuple[KeyPair, str]
#: How often a pair is replaced where a test looks for a rare mishap.
ROUNDS = 40


def collect(changes: list[Change]) -> Callable[[KeyPair, str], None]:
    """Return a callback that collects the changes."""
    return lambda pair, problem: changes.append((pair, problem))


def serving_from(
    folder: Path, events: list[Change] | None = None, *, now: Callable[[], datetime] = lambda: NOW
) -> ServingContext:
    """Serve the pair of a folder, collecting what is told."""
    told = events if events is not None else []
    return ServingContext(
        folder / SERVING_CERTIFICATE, folder / SERVING_KEY, on_change=collect(told), now=now
    )


def overwrite(folder: Path, pair: KeyPair) -> None:
    """Write a pair over another as ``cp`` does: in place, one file after the other."""
    (folder / SERVING_CERTIFICATE).write_bytes(pair.certificate_pem)
    (folder / SERVING_KEY).write_bytes(pair.key_pem)


def twin_pairs() -> tuple[KeyPair, KeyPair]:
    """Return two pairs whose files have the same sizes."""
    first = a_pair()
    size = len(first.certificate_pem)
    return first, next(pair for pair in iter(a_pair, None) if len(pair.certificate_pem) == size)


def a_weak_pair() -> KeyPair:
    """Return a pair that fits, with a key that OpenSSL finds too small to serve."""
    return signed_by(CA, "weak", rsa.generate_private_key(public_exponent=65537, key_size=1024))


def test_tls_and_protocol_versions(tmp_path: Path) -> None:
    """TLS 1.2 and newer, and HTTP/1.1 even for a client that would rather have HTTP/2."""
    folder = a_folder(tmp_path / "pki", a_pair())
    serving = serving_from(folder)
    with EchoServer(serving) as server:
        trust = folder / CA_CERTIFICATE
        with connect(server.port, "localhost", trust=trust, alpn=("h2", "http/1.1")) as client:
            versions = (client.version(), client.selected_alpn_protocol())

    assert versions == ("TLSv1.3", "http/1.1")
    assert serving.context().minimum_version is ssl.TLSVersion.TLSv1_2


def test_a_swap_under_an_open_connection(tmp_path: Path) -> None:
    """The open connection goes on with the old certificate; the next handshake gets the new one."""
    old, new = a_pair(), a_pair()
    folder = a_folder(tmp_path / "pki", old)
    trust = folder / CA_CERTIFICATE
    with EchoServer(serving_from(folder)) as server, connect(server.port, "localhost", trust=trust) as held:
        before = echoed(held, b"before")
        replace_serving(folder, new)
        with connect(server.port, "127.0.0.1", trust=trust) as fresh:
            serials = (serial_number(held), serial_number(fresh))
            answers = (before, echoed(held, b"after"), echoed(fresh, b"fresh"))

    assert serials == (old.certificate.serial_number, new.certificate.serial_number)
    assert answers == (b"before", b"after", b"fresh")


def test_the_context_is_the_same_until_the_files_change(tmp_path: Path) -> None:
    """Every call returns the one context; a change makes another one."""
    folder = a_folder(tmp_path / "pki", a_pair(lifetime=DAY))
    serving = serving_from(folder)
    first = serving.context()
    again = serving.context()
    replace_serving(folder, a_pair(lifetime=2 * DAY))
    second = serving.context()

    assert first is again
    assert second is not first
    assert serving.pair.not_after == NOW + 2 * DAY


def test_an_idle_server_tells_the_new_expiry(tmp_path: Path) -> None:
    """A metric is right also in a process that has had no connection since the files changed."""
    folder = a_folder(tmp_path / "pki", a_pair(lifetime=DAY))
    serving = serving_from(folder)
    replace_serving(folder, a_pair(lifetime=2 * DAY))

    assert serving.pair.not_after == NOW + 2 * DAY


def test_kubelet_switches_a_link(tmp_path: Path) -> None:
    """A Kubernetes secret mount changes by one rename of ``..data``; the files themselves never change."""
    pairs = [a_pair(), a_pair()]
    mount = tmp_path / "mount"
    for turn, pair in enumerate(pairs):
        a_folder(mount / f"..{turn}", pair)
    (mount / "..data").symlink_to("..0")
    for name in (SERVING_CERTIFICATE, SERVING_KEY):
        (mount / name).symlink_to(f"..data/{name}")
    events: list[Change] = []
    serving = serving_from(mount, events)
    (mount / "..data_tmp").symlink_to("..1")
    (mount / "..data_tmp").rename(mount / "..data")
    serving.context()

    assert [pair.fingerprint for pair, _ in events] == [pair.fingerprint for pair in pairs]
    assert [bool(problem) for _, problem in events] == [False, False]


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        pytest.param("tls.key", lambda path: path.write_bytes(a_pair().key_pem), id="another pair's key"),
        pytest.param(
            "tls.crt", lambda path: path.write_bytes(a_pair().certificate_pem), id="another certificate"
        ),
        pytest.param(
            "tls.crt", lambda path: path.write_bytes(path.read_bytes()[:400]), id="400 bytes written"
        ),
        pytest.param("tls.key", lambda path: path.write_bytes(b""), id="0 bytes written"),
        pytest.param("tls.key", Path.unlink, id="key missing"),
        pytest.param("tls.crt", lambda path: (path.unlink(), path.mkdir()), id="a folder in its place"),
        pytest.param("tls.crt", lambda path: overwrite(path.parent, a_weak_pair()), id="RSA with 1024 bits"),
    ],
)
def test_a_bad_pair_keeps_the_last_good_one(
    tmp_path: Path, name: str, spoil: Callable[[Path], object]
) -> None:
    """New connections still get the last good pair; it is told once, and so is the end of the trouble."""
    good, repaired = a_pair(), a_pair()
    folder = a_folder(tmp_path / "pki", good)
    events: list[Change] = []
    serving = serving_from(folder, events)
    context = serving.context()
    spoil(folder / name)
    kept = [serving.context() for _ in range(5)]
    if (folder / name).is_dir():
        (folder / name).rmdir()
    replace_serving(folder, repaired)
    renewed = serving.context()

    assert all(found is context for found in kept)
    assert renewed is not context
    assert [bool(problem) for _, problem in events] == [False, True, False]
    assert [pair.fingerprint for pair, _ in events] == [
        good.fingerprint, good.fingerprint, repaired.fingerprint,
    ]  # fmt: skip
    assert name in events[1][1]


def test_a_certificate_that_is_not_valid_yet_waits(tmp_path: Path) -> None:
    """A certificate from a clock 2 days ahead is served once it is valid; until then, the old one is."""
    old, new = a_pair(lifetime=9 * DAY), issue(CA, parse_hosts(["localhost"]), now=NOW + 2 * DAY)
    folder = a_folder(tmp_path / "pki", old)
    clock, events = [NOW], list[Change]()
    serving = serving_from(folder, events, now=lambda: clock[0])
    replace_serving(folder, new)
    served = [serving.pair]
    clock[0] = new.not_before
    served.append(serving.pair)

    assert [old, new] == served
    assert [False, True, False] == [bool(problem) for _, problem in events]
    assert "not valid before" in events[1][1]


@pytest.mark.parametrize(
    "after",
    [pytest.param(-3, id="what is served is not valid yet either"), pytest.param(1, id="it expired")],
)
def test_a_certificate_that_is_not_valid_yet_replaces_no_better_one(tmp_path: Path, after: int) -> None:
    """Where nothing is valid, the newest is as good."""
    old, new = a_pair(lifetime=DAY / 2), issue(CA, parse_hosts(["localhost"]), now=NOW + 2 * DAY)
    folder = a_folder(tmp_path / "pki", old)
    serving = serving_from(folder, now=lambda: NOW + after * DAY)
    replace_serving(folder, new)

    assert new == serving.pair


def test_each_problem_is_reported(tmp_path: Path) -> None:
    """A second wrong key is the same problem, garbage another; the old pair put back ends the trouble."""
    pair = a_pair()
    folder = a_folder(tmp_path / "pki", pair)
    events: list[Change] = []
    serving = serving_from(folder, events)
    for content in (a_pair().key_pem, a_pair().key_pem, b"x", pair.key_pem):
        (folder / SERVING_KEY).write_bytes(content)
        serving.context()
        serving.context()

    assert [False, True, True, False] == [bool(problem) for _, problem in events]


def test_the_same_content_is_no_change(tmp_path: Path) -> None:
    """Writing the same pair again, or touching it, is not worth a word."""
    pair = a_pair()
    folder = a_folder(tmp_path / "pki", pair)
    events: list[Change] = []
    serving = serving_from(folder, events)
    context = serving.context()
    overwrite(folder, pair)
    replace_serving(folder, pair)
    (folder / SERVING_KEY).touch()

    assert serving.context() is context
    assert len(events) == 1


def test_a_pair_that_openssl_refuses(tmp_path: Path) -> None:
    """It fits and is well-formed, and still cannot be served: the reason is OpenSSL's."""
    folder = a_folder(tmp_path / "pki", a_weak_pair())

    with pytest.raises(CertificateError, match="OpenSSL refuses the pair: EE_KEY_TOO_SMALL"):
        serving_from(folder)


def test_a_change_with_the_old_time_is_seen(tmp_path: Path) -> None:
    """Tools that copy times along (``cp -p``, ``rsync -t``) do not hide a change of the same size."""
    first, second = twin_pairs()
    folder = a_folder(tmp_path / "pki", first)
    context = serving_from(folder)
    before = [(path, path.stat()) for path in (folder / "tls.crt", folder / "tls.key")]
    overwrite(folder, second)
    for path, found in before:
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))

    assert second == context.pair


@pytest.mark.parametrize(
    ("content", "error"),
    [
        pytest.param(None, UnreadableError, id="missing"),
        pytest.param(b"no key", CertificateError, id="6 bytes of text"),
        pytest.param(a_pair().key_pem, MismatchedKeyError, id="another pair's key"),
    ],
)
def test_there_must_be_a_good_pair_to_begin_with(
    tmp_path: Path, content: bytes | None, error: type[Exception]
) -> None:
    """A server without any certificate cannot go on, and says which file is at fault."""
    folder = a_folder(tmp_path / "pki", a_pair())
    (folder / SERVING_KEY).unlink()
    if content is not None:
        (folder / SERVING_KEY).write_bytes(content)

    with pytest.raises(error, match=r"tls\.key"):
        serving_from(folder)


def test_a_chain_is_sent(tmp_path: Path) -> None:
    """Certificates after the first in its file reach the client; the first stays the serving certificate."""
    leaf = a_pair()
    folder = a_folder(tmp_path / "pki", leaf)
    overwrite(folder, parse_keypair(leaf.certificate_pem + CA.certificate_pem, leaf.key_pem))
    with (
        EchoServer(serving_from(folder)) as server,
        connect(server.port, "localhost", trust=folder / CA_CERTIFICATE) as client,
    ):
        serial = serial_number(client)

    assert serial == leaf.certificate.serial_number


def test_one_file_for_both(tmp_path: Path) -> None:
    """Certificate and key may be in one file."""
    pair = a_pair()
    file = tmp_path / "both.pem"
    file.write_bytes(pair.key_pem + pair.certificate_pem)
    serving = ServingContext(file, file)

    assert serving.pair.fingerprint == pair.fingerprint


def test_changes_in_place_are_seen_at_once(tmp_path: Path) -> None:
    """Even when they follow each other faster than a file system's clock ticks."""
    first, second = twin_pairs()
    folder = a_folder(tmp_path / "pki", first)
    serving = serving_from(folder)
    served = []
    for turn in range(ROUNDS):
        overwrite(folder, (second, first)[turn % 2])
        serving.context()
        served.append(serving.pair.fingerprint)

    assert served == [second.fingerprint, first.fingerprint] * (ROUNDS // 2)


def test_many_threads_while_a_writer_replaces(tmp_path: Path) -> None:
    """Handshakes by several threads succeed throughout, and the last pair is served in the end."""
    folder = a_folder(tmp_path / "pki", a_pair())
    trust = folder / CA_CERTIFICATE
    serving = serving_from(folder)
    done = threading.Event()
    failures: list[Exception] = []
    serials: set[int] = set()

    def handshakes(port: int) -> None:
        while not (serials and done.is_set()):
            try:
                with connect(port, "localhost", trust=trust) as client:
                    serials.add(serial_number(client))
            except Exception as error:  # noqa: BLE001  # a thread's exception would go unnoticed
                failures.append(error)
                return

    pairs = [a_pair() for _ in range(ROUNDS)]
    with EchoServer(serving) as server:
        clients = [threading.Thread(target=handshakes, args=(server.port,)) for _ in range(3)]
        for client in clients:
            client.start()
        for pair in pairs:
            replace_serving(folder, pair)
        done.set()
        for client in clients:
            client.join()
    serving.context()

    assert failures == []
    assert serving.pair == pairs[-1]
    assert serials


def test_a_callback_may_ask_for_the_context(tmp_path: Path) -> None:
    """Whoever reports an event may look at what is served without waiting for itself."""
    folder = a_folder(tmp_path / "pki", a_pair())
    holder: list[ServingContext] = []
    seen: list[ssl.SSLContext] = []

    def report(_pair: KeyPair, _problem: str) -> None:
        seen.extend(serving.context() for serving in holder)

    holder.append(ServingContext(folder / SERVING_CERTIFICATE, folder / SERVING_KEY, on_change=report))
    replace_serving(folder, a_pair())

    assert [holder[0].context()] == seen


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading, also in vain, leaves no open file and no copy of a key."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    folder = a_folder(tmp_path / "pki", a_pair())
    serving = serving_from(folder)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208  # names only: the listing's own descriptor is gone
    for pair in (a_pair(), a_weak_pair(), a_pair(), a_weak_pair()):
        replace_serving(folder, pair)
        serving.context()
    after = len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    assert before == after
    assert list((tmp_path / "tmp").iterdir()) == []
    assert {path.name for path in folder.iterdir()} == {*FILE_NAMES, *writing_of(folder)}


def shown(
    serving: ServingContext, folder: Path, client: KeyPair | None, *, newest: ssl.TLSVersion
) -> bytes | None:
    """Return the certificate that a server sees of a client, after a handshake in memory."""
    context = ssl.create_default_context(cafile=folder / CA_CERTIFICATE)
    context.maximum_version = newest
    if client is not None:
        (folder / "client").write_bytes(client.certificate_pem + client.key_pem)
        context.load_cert_chain(folder / "client")
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = (
        context.wrap_bio(back, there, server_hostname="localhost"),
        serving.context().wrap_bio(there, back, server_side=True),
    )
    # A handshake of TLS 1.2 takes each side two steps, one more than 1.3.
    for side in sides * 3:
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return sides[1].getpeercert(binary_form=True)


def asking_from(folder: Path, *authorities: KeyPair, events: list[Change] | None = None) -> ServingContext:
    """Serve the pair of a folder, asking for certificates of some authorities."""
    (folder / "clients").write_bytes(
        b"# for clients\n" + b"".join(one.certificate_pem for one in authorities)
    )
    return ServingContext(
        folder / SERVING_CERTIFICATE,
        folder / SERVING_KEY,
        client_ca=folder / "clients",
        on_change=collect(events if events is not None else []),
    )


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_client_certificates(tmp_path: Path, newest: ssl.TLSVersion) -> None:
    """One of any of the authorities is seen, none is no obstacle, and any other ends the handshake."""
    folder = a_folder(tmp_path / "pki", a_pair())
    ours, also_ours, others = (create_ca(NOW) for _ in range(3))
    serving = asking_from(folder, ours, also_ours)
    clients = [a_client(ca=ours), a_client(ca=also_ours)]
    strangers = [a_client(ca=others), a_client(ca=ours, usage=ExtendedKeyUsageOID.SERVER_AUTH)]

    assert [client.certificate.public_bytes(Encoding.DER) for client in clients] == [
        shown(serving, folder, client, newest=newest) for client in clients
    ]
    assert shown(serving, folder, None, newest=newest) is None
    for stranger in strangers:
        with pytest.raises(ssl.SSLError):
            shown(serving, folder, stranger, newest=newest)


def test_without_authorities_no_client_is_asked(tmp_path: Path) -> None:
    """By default a server asks nobody for a certificate."""
    folder = a_folder(tmp_path / "pki", a_pair())

    assert shown(serving_from(folder), folder, a_client(), newest=ssl.TLSVersion.TLSv1_3) is None


def test_client_authorities_that_change(tmp_path: Path) -> None:
    """The next handshake asks for the new ones; a file that holds none keeps those before."""
    folder = a_folder(tmp_path / "pki", a_pair())
    old, new = create_ca(NOW), create_ca(NOW)
    events: list[Change] = []
    serving = asking_from(folder, old, events=events)
    (folder / "clients").write_bytes(new.certificate_pem)
    newest = ssl.TLSVersion.TLSv1_3
    with pytest.raises(ssl.SSLError):
        shown(serving, folder, a_client(ca=old), newest=newest)
    (folder / "clients").write_bytes(b"nothing")

    assert shown(serving, folder, a_client(ca=new), newest=newest)
    assert [False, False, True] == [bool(problem) for _, problem in events]
    assert "clients" in events[-1][1]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        pytest.param(None, UnreadableError, id="no file"),
        pytest.param(b"", CertificateError, id="0 bytes"),
        pytest.param(a_pair().key_pem, CertificateError, id="a key"),
    ],
)
def test_no_client_authorities_to_begin_with(
    tmp_path: Path, content: bytes | None, error: type[Exception]
) -> None:
    """A server that is to ask for certificates and knows no authority does not start."""
    folder = a_folder(tmp_path / "pki", a_pair())
    if content is not None:
        (folder / "clients").write_bytes(content)
    with pytest.raises(error, match="clients"):
        ServingContext(
            folder / SERVING_CERTIFICATE,
            folder / SERVING_KEY,
            client_ca=folder / "clients",
        )
