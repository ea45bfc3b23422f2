"""The webhook configurations as an API server keeps them."""

from __future__ import annotations

import pytest
from cryptography import x509

from certs.inject import CONFIGURATION_KINDS, encode_bundle
from tests.certs.builders import CA
from tests.webhook.cert_rotation.cluster import MUTATING, VALIDATING, a_cluster, a_configuration
from webhook.cert_rotation.cluster_objects import Configuration, publish, read_configurations
from webhook.kube.api_server import ApiError

BUNDLE = (CA.certificate,)


def bundles(*configurations: Configuration) -> list[frozenset[x509.Certificate]]:
    """Return the CAs that each webhook trusts."""
    return [bundle for configuration in configurations for bundle in configuration.trusted.values()]


def test_published_is_read() -> None:
    """Every webhook of both trusts the bundle, and publishing again sends nothing."""
    cluster = a_cluster()
    cluster.put(VALIDATING, a_configuration(CONFIGURATION_KINDS[1], webhooks=2))
    for configuration in read_configurations(cluster, "evenkeel"):
        publish(cluster, configuration, BUNDLE)
    again = read_configurations(cluster, "evenkeel")

    assert [frozenset(BUNDLE)] * 3 == bundles(*again)
    assert again == tuple(publish(cluster, configuration, BUNDLE) for configuration in again)
    assert cluster.writes == [("PATCH", MUTATING), ("PATCH", VALIDATING)]


def test_what_is_missing_is_left_out() -> None:
    """A configuration that is not installed is no error, and nothing is published to it."""
    cluster = a_cluster()
    del cluster.objects[MUTATING]
    mutating, validating = read_configurations(cluster, "evenkeel")

    assert (None, "MutatingWebhookConfiguration evenkeel") == (mutating.manifest, mutating.source)
    assert mutating == publish(cluster, mutating, BUNDLE)
    assert [frozenset()] == bundles(mutating, validating)


def test_a_configuration_that_changed_is_a_conflict() -> None:
    """A configuration that another client has written meanwhile is read again before it is changed."""
    cluster = a_cluster()
    mutating, _ = read_configurations(cluster, "evenkeel")
    cluster.put(MUTATING, a_configuration(CONFIGURATION_KINDS[0], bundle=encode_bundle(BUNDLE)))
    with pytest.raises(ApiError) as caught:
        publish(cluster, mutating, BUNDLE)

    assert caught.value.conflict


def test_other_refusals_are_raised() -> None:
    """Who may not read must be told so."""
    cluster = a_cluster()
    cluster.forbidden.add(MUTATING)
    with pytest.raises(ApiError) as caught:
        read_configurations(cluster, "evenkeel")

    assert caught.value.forbidden
