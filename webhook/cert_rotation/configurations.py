"""The two webhook configurations: the CAs they trust, replaced by patches that cannot clash.

The report on a Secret says which of them do not trust it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from cryptography import x509

from certs.inject import CONFIGURATION_KINDS, plan_injection, trusted_by
from certs.inspect import CertificateFile, inspect, leads_to
from policies.model.labels import LabelSelector
from policies.model.workload_kinds import WorkloadKind
from webhook.cert_rotation.secret import StoredSecret
from webhook.kube.api_server import JSON_PATCH, ApiServer
from webhook.registration import OPERATIONS, PATHS, configuration_path, faults, is_sent, reviews


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A webhook configuration as it was read.

    Attributes:
        kind: Of the object.
        name: Of the object.
        manifest: The object; None where it does not exist.
    """

    kind: str
    name: str
    manifest: Mapping[str, Any] | None = None

    @property
    def source(self) -> str:
        """The name of the configuration in messages: its kind and name."""
        return f"{self.kind} {self.name}"

    @property
    def path(self) -> str:
        """Where its webhooks are answered."""
        return PATHS[self.kind]

    @property
    def webhooks(self) -> list[Mapping[str, Any]]:
        """Its webhooks; empty where the API server calls none."""
        return list((self.manifest or {}).get("webhooks") or ())

    @property
    def trusted(self) -> dict[str, frozenset[x509.Certificate]]:
        """The certificates that each of its webhooks trusts, by the webhooks' names."""
        return trusted_by(self.manifest or {})


class Registration(NamedTuple):
    """The reviews that a configuration makes the API server send.

    Attributes:
        reviewed: Whether it sends workloads to a webhook that answers.
        faults: Why some webhook is sent nothing, each as a sentence.
    """

    reviewed: bool
    faults: tuple[str, ...]


def registration(
    configuration: Configuration,
    kinds: Collection[WorkloadKind],
    *,
    namespaces: Collection[Mapping[str, str]] | None,
    selects: Callable[[LabelSelector], bool],
) -> Registration:
    """Return the reviews that a configuration makes the API server send; see ``webhook.registration.faults``.

    That nothing has the labels of an objectSelector is a fault, but no proof: objects may have them tomorrow.
    """
    source, path, listed = configuration.source, configuration.path, configuration.webhooks
    nothing = f"the API server sends nothing to {path}"
    if not listed:
        what = "does not exist" if configuration.manifest is None else "has no webhooks"
        return Registration(False, (f"{source} {what}: {nothing}",))  # noqa: FBT003  # named in the tuple
    sound = [each for each in listed if not any(faults(each, path, kinds, namespaces=namespaces))]
    reviewed = any(
        reviews(kind, path) and is_sent(each, kind, OPERATIONS[path]) for each in sound for kind in kinds
    )
    found = [
        f"{source}: {each.get('name')} {fault}"
        for each in listed
        for fault in faults(each, path, kinds, namespaces=namespaces, selects=selects)
    ]
    if not reviewed:
        found.append(f"{source} makes no workload reviewed: {nothing} that it answers")
    return Registration(reviewed, tuple(found))


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
    manifest = api.call("PATCH", path, params=manager, body=patch, content_type=JSON_PATCH)
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
