"""The Secret that all replicas share: read it, create it, write it only if it has not changed since.

Its content is ``certs.keyring``'s business. Errors are those of ``ApiServer.call``; a conflict means that
another process was faster, and that the Secret must be read again.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from certs.keyring import Keyring, parse_keyring
from webhook.kube.api_server import ApiError, ApiServer, ClusterError


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSecret:
    """A Secret as it was read.

    Attributes:
        source: What messages call it.
        keyring: What it holds; nothing where it does not exist.
        manifest: The object; None where it does not exist. Never shown: it has private keys.
    """

    source: str
    keyring: Keyring
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
