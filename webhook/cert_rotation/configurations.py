"""The two webhook configurations: whom they trust, and putting a bundle in by patches that cannot clash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from cryptography import x509

from certs.inject import CONFIGURATION_KINDS, bundles, plan_injection
from webhook.kube.api_server import JSON_PATCH, ApiError, ApiServer

#: The group that registers webhooks.
_GROUP: Final = "/apis/admissionregistration.k8s.io/v1"
#: Who the API server's managed fields say has written the bundle.
_FIELD_MANAGER: Final = "evenkeel"


def collection(kind: str) -> str:
    """Return where the API server has all configurations of a kind."""
    return f"{_GROUP}/{kind.lower()}s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A webhook configuration as it was read.

    Attributes:
        kind: Of the object.
        name: Of the object.
        manifest: The object; None where it is not there.
    """

    kind: str
    name: str
    manifest: Mapping[str, Any] | None

    @property
    def source(self) -> str:
        """What messages call it."""
        return f"{self.kind} {self.name}"

    @property
    def webhook(self) -> str:
        """What its webhook does, as metrics name it."""
        return "mutate" if self.kind == CONFIGURATION_KINDS[0] else "validate"

    @property
    def registered(self) -> bool:
        """Whether the API server is told to call anyone: without configuration or webhooks it is not."""
        return bool((self.manifest or {}).get("webhooks"))

    @property
    def path(self) -> str:
        """Where the API server has it."""
        return f"{collection(self.kind)}/{self.name}"


def read_configurations(api: ApiServer, name: str) -> tuple[Configuration, ...]:
    """Return the mutating and the validating configuration of a name, there or not.

    Raises:
        ClusterError: They cannot be asked for.
    """
    return tuple(
        _read(api, Configuration(kind=kind, name=name, manifest=None)) for kind in CONFIGURATION_KINDS
    )


def published_bundles(configurations: Iterable[Configuration]) -> list[frozenset[x509.Certificate]]:
    """Return whom each webhook of the configurations trusts."""
    return [
        bundle
        for configuration in configurations
        if configuration.manifest is not None
        for bundle in bundles(configuration.manifest)
    ]


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
    manifest = api.call(
        "PATCH",
        configuration.path,
        params={"fieldManager": _FIELD_MANAGER},
        body=patch,
        content_type=JSON_PATCH,
    )
    return replace(configuration, manifest=manifest)


def _read(api: ApiServer, configuration: Configuration) -> Configuration:
    try:
        return replace(configuration, manifest=api.call("GET", configuration.path))
    except ApiError as error:
        if not error.not_found:
            raise
        return configuration
