"""The Secret that all replicas share: read it, make it, write it only if nobody else has meanwhile.

What stands in its keys is ``certs.keyring``'s business. Errors are those of ``ApiServer.call``; a conflict
means that somebody else was faster, and that what is there now must be looked at.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from certs.keyring import Keyring, keyring_data, parse_keyring
from webhook.kube.api_server import ApiError, ApiServer, ClusterError

#: The type of a Secret that we make. Tools that look for certificates know it.
_TYPE: Final = "kubernetes.io/tls"
#: Labels of a Secret that we make, for people who look for what is whose.
_LABELS: Final = {"app.kubernetes.io/name": "evenkeel", "app.kubernetes.io/managed-by": "evenkeel"}
#: How cert-manager's annotations on a Secret that it keeps begin.
_CERT_MANAGER: Final = "cert-manager.io/"


class ForeignSecretError(ClusterError):
    """A Secret that somebody else keeps; two who write it would undo each other's work for ever."""


class MissingSecretError(ClusterError):
    """A Secret that comes with the installation and is gone: to make one no right can be given by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A Secret as it was read.

    Attributes:
        source: What messages call it.
        keyring: What it holds; nothing where it is not there.
        manifest: The object; None where it is not there. Never shown: it has private keys.
    """

    source: str
    keyring: Keyring
    manifest: Mapping[str, Any] | None = field(repr=False)


class SecretStore:
    """One Secret of one namespace."""

    def __init__(self, api: ApiServer, namespace: str, name: str) -> None:
        self._api = api
        self._name = name
        self._namespace = namespace
        self._collection = f"/api/v1/namespaces/{namespace}/secrets"
        self.source = f"Secret {namespace}/{name}"

    def read(self) -> Stored:
        """Return what is there.

        Raises:
            ClusterError: It cannot be asked for, or is kept by cert-manager.
        """
        try:
            manifest = self._api.call("GET", f"{self._collection}/{self._name}")
        except ApiError as error:
            if not error.not_found:
                raise
            nothing = Keyring(problems=(f"{self.source} does not exist",))
            return Stored(source=self.source, keyring=nothing, manifest=None)
        return self._stored(manifest)

    def write(self, old: Stored, keyring: Keyring) -> Stored:
        """Put a keyring in the place of what was read.

        Raises:
            ApiError: With ``conflict`` or ``not_found`` if it is no longer what was read.
            MissingSecretError: It is not there and may not be made.
            UnreachableError: There is no answer.
        """
        data = {key: base64.b64encode(value).decode() for key, value in keyring_data(keyring).items()}
        if old.manifest is None:
            made = {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": self._name, "namespace": self._namespace, "labels": _LABELS},
                "type": _TYPE,
                "data": data,
            }
            try:
                return self._stored(self._api.call("POST", self._collection, body=made))
            except ApiError as error:
                if error.forbidden:
                    text = "is not there, and Evenkeel may not make it: apply its installation again"
                    raise MissingSecretError(f"{self.source} {text} ({error})") from error
                raise
        # The resourceVersion that was read goes along, so a write in between is a conflict.
        changed = {**old.manifest, "data": data}
        return self._stored(self._api.call("PUT", f"{self._collection}/{self._name}", body=changed))

    def _stored(self, manifest: dict[str, Any]) -> Stored:
        annotations = manifest.get("metadata", {}).get("annotations") or {}
        if any(name.startswith(_CERT_MANAGER) for name in annotations):
            raise ForeignSecretError(
                f"{self.source} is kept by cert-manager; mount it and give its folder with --cert-dir"
            )
        return Stored(
            source=self.source, keyring=parse_keyring(_decoded(manifest), self.source), manifest=manifest
        )


def _decoded(manifest: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the data of a Secret; what is no base64 is left out, as if it were not there."""
    data = {}
    for key, text in (manifest.get("data") or {}).items():
        try:
            data[key] = base64.b64decode(text, validate=True)
        except (binascii.Error, TypeError, ValueError):
            continue
    return data
