"""The names a serving certificate is valid for: DNS names, IP addresses, the names of a Service.

Checks and normalizes; knows nothing of certificates.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from certs.errors import CertificateError

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

#: One label of a DNS name, at most 63 characters. RFC 1123 section 2.1; Kubernetes' names are the same.
LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
#: Characters of a DNS name, at most. RFC 1035 section 2.3.4, written without the final dot.
MAX_DNS_NAME_LENGTH = 253
#: What clients look for among the DNS names, in the words of Kubernetes' own validation.
_DNS_RULE = (
    "must be a DNS name such as web.example.com or *.example.com, of labels of 1 to 63 letters, digits and "
    f"hyphens, at most {MAX_DNS_NAME_LENGTH} characters"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectNames:
    """The checked names of one certificate, without repeats."""

    dns: tuple[str, ...]  #: DNS names in lower case; the first label may be ``*``.
    addresses: tuple[IPAddress, ...]  #: IPv4 and IPv6 addresses.


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A Kubernetes Service, by the parts of its names."""

    name: str
    namespace: str

    def names(self) -> tuple[str, ...]:
        """Return every name that cluster DNS resolves to this Service, in the usual domain.

        The API server dials the third one (``NAME.NAMESPACE.svc``).

        >>> Service(name="evenkeel", namespace="ops").names()[1:]
        ('evenkeel.ops', 'evenkeel.ops.svc', 'evenkeel.ops.svc.cluster.local')
        """
        qualified = f"{self.name}.{self.namespace}"
        return self.name, qualified, f"{qualified}.svc", f"{qualified}.svc.cluster.local"

    def problems(self) -> list[str]:
        """Return the problems of the parts, one line each."""
        return [
            f"{what}: Invalid value: {_shown(part)}: must be an RFC 1123 label, as Kubernetes names are"
            for what, part in (("Service name", self.name), ("namespace", self.namespace))
            if not LABEL.fullmatch(part)
        ]


def parse_names(
    dns: Iterable[str] = (), addresses: Iterable[str] = (), *, service: Service | None = None
) -> SubjectNames:
    """Check names and return them normalized, a Service's own names first.

    Raises:
        CertificateError: With every problem in a line of its own, or when there is no name at all.
    """
    dns, addresses = list(dns), list(addresses)
    parsed = list(map(_parse_address, addresses))
    problems = service.problems() if service else []
    problems += [f"DNS name: Invalid value: {_shown(name)}: {_DNS_RULE}" for name in dns if not _is_dns(name)]
    problems += [
        f"IP address: Invalid value: {_shown(text)}: must be an IPv4 or IPv6 address without a zone"
        for text, address in zip(addresses, parsed, strict=True)
        if address is None
    ]
    names = [*(service.names() if service else ()), *map(str.lower, dns)]
    if not problems and not names and not parsed:
        problems = ["a serving certificate needs at least one name: a Service, a DNS name or an IP address"]
    if problems:
        raise CertificateError("\n".join(problems))
    return SubjectNames(dns=tuple(dict.fromkeys(names)), addresses=tuple(dict.fromkeys(filter(None, parsed))))


def parse_hosts(hosts: Iterable[str]) -> SubjectNames:
    """Check hosts that may be DNS names or IP addresses, as people write them after ``https://``.

    >>> parse_hosts(["localhost", "::1"]).dns
    ('localhost',)

    Raises:
        CertificateError: With every problem in a line of its own, or when there is no host at all.
    """
    hosts = list(hosts)
    addresses = [host for host in hosts if _parse_address(host)]
    return parse_names([host for host in hosts if host not in addresses], addresses)


def _is_dns(name: str) -> bool:
    labels = name.lower().split(".")
    if labels[0] == "*":
        # A wildcard over a whole top-level domain is refused by clients.
        labels = labels[1:] if len(labels) > 2 else [""]
    return (
        name.isascii()
        and len(name) <= MAX_DNS_NAME_LENGTH
        and all(map(LABEL.fullmatch, labels))
        # Clients never look for an address among the DNS names.
        and _parse_address(name) is None
    )


def _parse_address(text: str) -> IPAddress | None:
    """Return an address, or None for anything else; a certificate cannot hold a zone."""
    try:
        return None if "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None


def _shown(name: str) -> str:
    """Return a user's name short and printable, in quotes."""
    cut = name if len(name) <= 80 else f"{name[:80]}…"
    return '"' + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut) + '"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a cluster has its certificates."""

    namespace: str = "evenkeel"  #: Of the Secret and the Service.
    #: Its name.
    secret: str = "evenkeel-tls"  # noqa: S105  # a name
    service: str = "evenkeel"  #: The Service that the certificate is for.
    webhooks: str = "evenkeel"  #: The name of both webhook configurations.

    def names(self) -> SubjectNames:
        """Return the names of the serving certificate.

        Raises:
            CertificateError: A Service or a namespace cannot have such a name.
        """
        return parse_names(service=Service(name=self.service, namespace=self.namespace))
