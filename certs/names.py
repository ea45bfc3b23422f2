"""The names a serving certificate answers to: DNS names, IP addresses, the names of a Service.

Checks and normalizes; knows nothing of certificates.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from certs.errors import NamesError

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

#: Characters of a DNS name, at most. RFC 1035 section 2.3.4, written without the final dot.
MAX_DNS_NAME_LENGTH = 253
#: The domain of a cluster's Services, where nobody chose another one. Kubernetes' own default.
DEFAULT_CLUSTER_DOMAIN = "cluster.local"
#: Characters of a user's name that a message repeats. Arbitrary; keeps one line readable.
SHOWN_NAME_LENGTH = 80
#: One label of a DNS name, at most 63 characters. RFC 1123 section 2.1; Kubernetes' names are the same.
LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectNames:
    """The checked names of one certificate, without repeats.

    Attributes:
        dns: DNS names in lower case; the first label may be ``*``.
        addresses: IPv4 and IPv6 addresses.
    """

    dns: tuple[str, ...]
    addresses: tuple[IPAddress, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A Kubernetes Service, by the parts of its names."""

    name: str
    namespace: str
    cluster_domain: str = DEFAULT_CLUSTER_DOMAIN

    def names(self) -> tuple[str, ...]:
        """Return every name that cluster DNS resolves to this Service.

        The API server dials the third one (``NAME.NAMESPACE.svc``).

        >>> Service(name="evenkeel", namespace="ops").names()[1:]
        ('evenkeel.ops', 'evenkeel.ops.svc', 'evenkeel.ops.svc.cluster.local')
        """
        in_namespace = f"{self.name}.{self.namespace}"
        return (
            self.name,
            in_namespace,
            f"{in_namespace}.svc",
            f"{in_namespace}.svc.{self.cluster_domain}",
        )

    def problems(self) -> list[str]:
        """Return what is wrong with the parts, one line each."""
        parts = (("Service name", self.name), ("namespace", self.namespace))
        problems = [
            f"{what} {_shown(part)}: must be 1 to 63 lower case letters, digits and hyphens, "
            "with a letter or digit at both ends"
            for what, part in parts
            if not LABEL.fullmatch(part)
        ]
        domain = dns_problem(self.cluster_domain)
        if domain or self.cluster_domain.startswith("*"):
            problems.append(f"cluster domain {_shown(self.cluster_domain)}: {domain or 'has a wildcard'}")
        return problems


def parse_names(
    dns: Iterable[str] = (), addresses: Iterable[str] = (), *, service: Service | None = None
) -> SubjectNames:
    """Check names and return them normalized, a Service's own names first.

    Raises:
        NamesError: With every problem, or when there is no name at all.
    """
    dns, addresses = list(dns), list(addresses)
    problems = service.problems() if service else []
    if service and not problems:
        dns = [*service.names(), *dns]
    found = [(name, dns_problem(name)) for name in dns]
    problems += [f"DNS name {_shown(name)}: {problem}" for name, problem in found if problem]
    parsed = []
    for text in addresses:
        try:
            parsed.append(_address(text))
        except ValueError as error:
            problems.append(f"IP address {_shown(text)}: {error}")
    if not problems and not dns and not parsed:
        problems = ["a serving certificate needs at least one name: a Service, a DNS name or an IP address"]
    if problems:
        raise NamesError(problems)
    return SubjectNames(
        dns=tuple(dict.fromkeys(name.lower() for name in dns)), addresses=tuple(dict.fromkeys(parsed))
    )


def parse_hosts(hosts: Iterable[str]) -> SubjectNames:
    """Check hosts that may be DNS names or IP addresses, as a person writes them after ``https://``.

    >>> parse_hosts(["localhost", "::1"]).dns
    ('localhost',)

    Raises:
        NamesError: With every problem, or when there is no host at all.
    """
    hosts = list(hosts)
    addresses = [host for host in hosts if _is_address(host)]
    return parse_names([host for host in hosts if host not in addresses], addresses)


def dns_problem(name: str) -> str:
    """Return what is wrong with a DNS name, as half a sentence; empty when nothing is.

    >>> dns_problem("web.example.com"), dns_problem("web.")
    ('', 'must not end in a dot')
    """
    if not name:
        return "is empty"
    if _is_address(name):
        return "is an IP address, which clients never look for among the DNS names; give it as an IP address"
    if not name.isascii():
        return "has characters outside ASCII; write it in its xn-- form"
    if name.endswith("."):
        return "must not end in a dot"
    if len(name) > MAX_DNS_NAME_LENGTH:
        return f"must be at most {MAX_DNS_NAME_LENGTH} characters long, is {len(name)}"
    labels = name.lower().split(".")
    if labels[0] == "*":
        labels = labels[1:]
        if len(labels) < 2:
            return "has a wildcard over a whole top-level domain; at least two labels must follow it"
    for label in labels:
        if not LABEL.fullmatch(label):
            return (
                f"the part {_shown(label)} must be 1 to 63 letters, digits and hyphens, "
                "with a letter or digit at both ends"
            )
    return ""


def _address(text: str) -> IPAddress:
    """Return an address without a zone, which a certificate cannot hold."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError("is neither an IPv4 nor an IPv6 address") from None
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
        raise ValueError("has a zone (%), which a certificate cannot hold")
    return address


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _shown(name: str) -> str:
    """Return a user's name short and printable, in quotes."""
    cut = name if len(name) <= SHOWN_NAME_LENGTH else f"{name[:SHOWN_NAME_LENGTH]}…"
    return '"' + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut) + '"'
