"""The objects of a cluster with its certificates: the Secret that all replicas share, and two configurations.

The content of the Secret is ``certs.keyring``'s business. Errors are those of ``ApiServer.call``; a conflict
means that another process was faster, and that the object must be read again. The report on a Secret says
which webhook configurations do not trust it. Of a manifest with them, the caBundle alone is changed.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509

from certs.inject import CONFIGURATION_KINDS, encode_bundle, plan_injection, stale_webhooks, trusted_by
from certs.inspect import CertificateFile, inspect, leads_to
from certs.keyring import Keyring, parse_keyring
from policies.manifests.documents import Document, ManifestObject, load, objects
from policies.manifests.edits import Edit
from policies.manifests.errors import DocumentError
from policies.manifests.rewrite import RewriteRefusal, rewrite
from webhook.kube.api_server import ApiError, ApiServer, ClusterError
from webhook.registration import PATHS, configuration_path


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSecret:
    """A Secret as it was read."""

    source: str  #: What messages call it.
    keyring: Keyring  #: What it holds; nothing where it does not exist.
    #: The object; None where it does not exist. Never shown: it has private keys.
    manifest: Mapping[str, Any] | None = field(default=None, repr=False)


class SecretStore:
    """One Secret of one namespace."""

    def __init__(self, api: ApiServer, namespace: str, name: str) -> None:
        self._api = api
        self._metadata = {"name": name, "namespace": namespace}
        self._collection = f"/api/v1/namespaces/{namespace}/secrets"
        self._path = f"{self._collection}/{name}"
        self.source = f"Secret {namespace}/{name}"

    def read(self) -> StoredSecret:
        """Return the Secret, whether it exists or not.

        Raises:
            ClusterError: It cannot be read, or belongs to cert-manager.
        """
        if (manifest := self._api.find(self._path)) is not None:
            return self._stored(manifest)
        nothing = Keyring(problems=(f"{self.source} does not exist",))
        return StoredSecret(source=self.source, keyring=nothing)

    def write(self, old: StoredSecret, keyring: Keyring) -> StoredSecret:
        """Replace what was read by a keyring.

        Raises:
            ApiError: With ``conflict`` or ``not_found`` if it is no longer what was read.
            ClusterError: It does not exist and may not be created, or there is no answer.
        """
        data = {key: base64.b64encode(value).decode() for key, value in keyring.data().items()}
        if old.manifest is not None:
            # The resourceVersion that was read is sent too, so a write in between is a conflict.
            return self._stored(self._api.call("PUT", self._path, body={**old.manifest, "data": data}))
        labels = {"app.kubernetes.io/name": "evenkeel", "app.kubernetes.io/managed-by": "evenkeel"}
        created = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {**self._metadata, "labels": labels},
            "type": "kubernetes.io/tls",
            "data": data,
        }
        try:
            return self._stored(self._api.call("POST", self._collection, body=created))
        except ApiError as error:
            if not error.forbidden:
                raise
            # RBAC cannot allow creating an object of one name.
            text = "does not exist, and Evenkeel may not create it: apply its installation again"
            raise ClusterError(f"{self.source} {text} ({error})") from error

    def _stored(self, manifest: dict[str, Any]) -> StoredSecret:
        annotations = manifest.get("metadata", {}).get("annotations") or {}
        if any(name.startswith("cert-manager.io/") for name in annotations):
            # Two that write it would undo each other's work for ever.
            raise ClusterError(
                f"{self.source} is managed by cert-manager; mount it and give its folder with --cert-dir"
            )
        return StoredSecret(
            source=self.source, keyring=parse_keyring(_decoded(manifest), self.source), manifest=manifest
        )


def _decoded(manifest: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the data of a Secret; a value that is not base64 is left out, as if it were missing."""
    data = {}
    for key, text in (manifest.get("data") or {}).items():
        try:
            data[key] = base64.b64decode(text, validate=True)
        except (binascii.Error, TypeError, ValueError):
            continue
    return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A webhook configuration as it was read."""

    kind: str  #: Of the object.
    name: str  #: Of the object.
    manifest: Mapping[str, Any] | None = None  #: The object; None where it does not exist.

    @property
    def source(self) -> str:
        """The name of the configuration in messages: its kind and name."""
        return f"{self.kind} {self.name}"

    @property
    def path(self) -> str:
        """Where its webhooks are answered."""
        return PATHS[self.kind]

    @property
    def webhooks(self) -> list[Mapping[str, Any]] | None:
        """Its webhooks; None where it does not exist."""
        return None if self.manifest is None else list(self.manifest.get("webhooks") or ())

    @property
    def trusted(self) -> dict[str, frozenset[x509.Certificate]]:
        """The certificates that each of its webhooks trusts, by the webhooks' names."""
        return trusted_by(self.manifest or {})


def read_configurations(api: ApiServer, name: str) -> tuple[Configuration, ...]:
    """Return the mutating and the validating configuration of a name, whether they exist or not.

    Raises:
        ClusterError: They cannot be read.
    """
    return tuple(
        Configuration(kind=kind, name=name, manifest=api.find(configuration_path(kind, name)))
        for kind in CONFIGURATION_KINDS
    )


def publish(
    api: ApiServer, configuration: Configuration, bundle: tuple[x509.Certificate, ...]
) -> Configuration:
    """Make a configuration trust exactly these certificates; nothing is sent if it does already.

    Returns:
        The configuration as it is now; the given one if nothing was sent.

    Raises:
        ApiError: With ``conflict`` or ``not_found`` if it is no longer what was read.
        UnreachableError: There is no answer.
    """
    patch = plan_injection(configuration.manifest, bundle) if configuration.manifest is not None else []
    if not patch:
        return configuration
    # The API server's managed fields name who has written the bundle.
    manager = {"fieldManager": "evenkeel"}
    path = configuration_path(configuration.kind, configuration.name)
    manifest = api.call("PATCH", path, params=manager, body=patch)
    return replace(configuration, manifest=manifest)


def inspect_secret(
    stored: StoredSecret, configurations: Iterable[Configuration], *, now: datetime, margin: timedelta
) -> dict[str, Any]:
    """Return the report of ``certs.inspect`` on a Secret, and the configurations that do not trust it."""
    keyring, source = stored.keyring, stored.source
    files = [
        CertificateFile(
            source=f"{source}: {what}", certificates=(pair.certificate, *pair.chain), key=pair.key
        )
        for what, pair in (("serving certificate", keyring.serving), ("CA", keyring.ca))
        if pair
    ]
    files += [
        CertificateFile(source=f"{source}: retired CA", certificates=(certificate,))
        for certificate in keyring.retired()
    ]
    found = inspect(files, keyring.bundle(now), now=now, margin=margin)
    found["problems"] += [*keyring.problems, *_trust_problems(stored, configurations, now)]
    return found


def _trust_problems(
    stored: StoredSecret, configurations: Iterable[Configuration], now: datetime
) -> Iterator[str]:
    """Yield the problems between a Secret and the configurations of the cluster, a line each."""
    serving, bundle = stored.keyring.serving, frozenset(stored.keyring.bundle(now))
    for configuration in configurations:
        if configuration.manifest is None:
            yield f"{configuration.source}: does not exist, so the API server does not call its webhooks"
        for webhook, trusted in configuration.trusted.items():
            where = f"{configuration.source}: the caBundle of {webhook}"
            if serving is not None and not leads_to(serving.certificate, trusted):
                yield f"{where} does not trust the serving certificate of {stored.source}"
            elif missing := len(bundle - trusted):
                yield f"{where} lacks {missing} of the {len(bundle)} CAs of {stored.source}"


def inject_manifest(
    content: bytes, file: str, bundle: Iterable[x509.Certificate], *, name: str = ""
) -> bytes:
    """Return a manifest whose webhook configurations trust exactly these certificates.

    Args:
        content: YAML or JSON, of one document or more.
        file: What messages call it.
        bundle: The CAs to trust.
        name: The configurations' name; empty for all of them.

    Raises:
        DocumentError: It cannot be read or edited, or has no such configuration.
    """
    bundle = tuple(bundle)
    documents = load(content, file)
    found = [entry for document in documents for entry in _configurations(document, name)]
    if not found:
        raise DocumentError([f"{file}: no webhook configuration{f' named {name}' if name else ''}"])
    edits: dict[int, list[Edit]] = {}
    for entry in found:
        edits.setdefault(entry.document.index, []).extend(_edits(entry, bundle))
    result = rewrite(content, documents, edits)
    if isinstance(result, RewriteRefusal):
        raise DocumentError([f"{file}:{result.line}: {result.problem}"])
    return result


def _configurations(document: Document, name: str) -> Iterator[ManifestObject]:
    for entry in objects(document):
        metadata = entry.value.get("metadata")
        called = metadata.get("name") if isinstance(metadata, dict) else None
        if entry.value.get("kind") in CONFIGURATION_KINDS and (not name or called == name):
            yield entry


def _edits(entry: ManifestObject, bundle: tuple[x509.Certificate, ...]) -> Iterator[Edit]:
    value = encode_bundle(bundle)
    for position in stale_webhooks(entry.value, bundle):
        path = entry.path.child("webhooks").index(position).child("clientConfig", "caBundle")
        yield Edit(path, entry.value["webhooks"][position]["clientConfig"].get("caBundle"), value)
