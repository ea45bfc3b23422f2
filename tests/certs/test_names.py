"""DNS names, IP addresses and the names of a Service."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certs.errors import CertificateError
from certs.names import LABEL, MAX_DNS_NAME_LENGTH, Service, SubjectNames, parse_hosts, parse_names


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("localhost", id="1 label"),
        pytest.param("a.b-c.example.com", id="4 labels, one with a hyphen"),
        pytest.param("xn--bcher-kva.example", id="the ASCII form of an international name"),
        pytest.param("*.example.com", id="a wildcard over 2 labels"),
        pytest.param("EXAMPLE.com", id="upper case"),
        pytest.param("a" * 63, id="a label of 63 characters"),
        pytest.param(".".join(["a" * 49] * 5) + ".aaa", id="253 characters"),
    ],
)
def test_valid_dns_names(name: str) -> None:
    """Names that DNS allows are allowed."""
    assert (name.lower(),) == parse_names([name]).dns


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="0 characters"),
        pytest.param("a_b.example.com", id="underscore"),
        pytest.param("-a.example.com", id="hyphen at the front"),
        pytest.param("a..b", id="an empty label"),
        pytest.param("example.com.", id="final dot"),
        pytest.param("bücher.example", id="not ASCII"),
        pytest.param("\N{KELVIN SIGN}.example", id="not ASCII, unlike its lower case"),
        pytest.param("10.0.0.1", id="an IPv4 address"),
        pytest.param("::1", id="an IPv6 address"),
        pytest.param("a" * 64, id="a label of 64 characters"),
        pytest.param(".".join(["a" * 50] * 5), id="254 characters"),
        pytest.param("*.com", id="a wildcard over 1 label"),
        pytest.param("*", id="a wildcard over 0 labels"),
        pytest.param("a.*.com", id="a wildcard in the middle"),
        pytest.param("a\nb", id="a newline"),
        pytest.param("https://example.com", id="a URL"),
    ],
)
def test_invalid_dns_names(name: str) -> None:
    """Names that DNS or clients refuse are refused."""
    with pytest.raises(CertificateError, match="DNS name: Invalid value"):
        parse_names([name])


def test_names_are_normalized_without_repeats() -> None:
    """Case, spelling of an address and repeats make no difference; a Service's names come first."""
    names = parse_names(
        ["Web.Example", "web.example", "web"],
        ["0:0::1", "::1", "10.0.0.1"],
        service=Service(name="web", namespace="ops"),
    )

    assert names == SubjectNames(
        dns=("web", "web.ops", "web.ops.svc", "web.ops.svc.cluster.local", "web.example"),
        addresses=(ip_address("::1"), ip_address("10.0.0.1")),
    )


def test_all_problems_at_once() -> None:
    """Every bad part of the input has its own line."""
    with pytest.raises(CertificateError) as caught:
        parse_names(
            ["a_b", "ok.example", "c."],
            ["10.0.0.256", "fe80::1%eth0"],
            service=Service(name="Web", namespace=""),
        )

    assert len(str(caught.value).splitlines()) == 6


@pytest.mark.parametrize("hostile", ["a\x1b[31m", "a\nb", "x" * 5000])
def test_messages_stay_one_printable_line(hostile: str) -> None:
    """Control characters and long input do not reach the terminal."""
    with pytest.raises(CertificateError) as caught:
        parse_names([hostile])

    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


def test_no_name_at_all() -> None:
    """A certificate that no client accepts is not issued."""
    with pytest.raises(CertificateError, match="at least one name"):
        parse_names()


def test_hosts_are_sorted_out() -> None:
    """Hosts may be names or addresses."""
    names = parse_hosts(["localhost", "::1", "127.0.0.1"])

    assert names == SubjectNames(dns=("localhost",), addresses=(ip_address("::1"), ip_address("127.0.0.1")))


class TestProperties:
    """RFC 1123 section 2.1: letters, digits and hyphens, labels of up to 63 octets, 255 in all."""

    @given(st.lists(st.from_regex(LABEL, fullmatch=True), min_size=1, max_size=6))
    def test_labels_that_fit_are_accepted(self, labels: list[str]) -> None:
        """Any labels of the right form make a name, unless it is too long or reads as an address."""
        name = ".".join(labels)
        address = len(labels) == 4 and all(
            label.isdigit() and int(label) < 256 and (label == "0" or label[0] != "0") for label in labels
        )
        try:
            parse_names([name])
        except CertificateError:
            assert len(name) > MAX_DNS_NAME_LENGTH or address
        else:
            assert len(name) <= MAX_DNS_NAME_LENGTH
            assert not address

    @given(st.lists(st.text(max_size=300), max_size=4), st.lists(st.text(max_size=60), max_size=4))
    def test_any_text_is_names_or_an_error(self, dns: list[str], addresses: list[str]) -> None:
        """No input ends in another exception."""
        try:
            names = parse_names(dns, addresses)
        except CertificateError:
            return

        assert all(name.isascii() and name == name.lower() for name in names.dns)
