"""Webhook configurations and their fields."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.workload import KNOWN_KINDS
from tests.webhook.doctor.installation import (
    a_webhook,
    checks_of,
    configurations,
    evidence,
    healthy,
    ours,
    remedies,
)
from webhook.doctor import registration
from webhook.doctor.facts import VALIDATING, Configuration, Known, Resource, Rule
from webhook.doctor.registration import resource_of

CHECKS = checks_of(registration.CHECKS)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(ours(), "", id="both"),
        pytest.param(
            configurations(a_webhook()),
            "problem: ValidatingWebhookConfiguration evenkeel does not exist: the API server asks nobody",
            id="one is missing",
        ),
        pytest.param(
            Known((*configurations(a_webhook()).value, Configuration(VALIDATING, "evenkeel", ()))),
            "problem: ValidatingWebhookConfiguration evenkeel holds no webhook: the API server asks nobody",
            id="one is empty",
        ),
        pytest.param(
            configurations(a_webhook(service=("ops", "keel")), a_webhook(kind=VALIDATING)),
            "warning: mutate.evenkeel.dev calls Service ops/keel, not Service evenkeel/evenkeel",
            id="another Service",
        ),
        pytest.param(
            configurations(a_webhook(service=()), a_webhook(kind=VALIDATING)),
            "warning: mutate.evenkeel.dev calls a URL, not Service evenkeel/evenkeel",
            id="a URL",
        ),
    ],
)
def test_registered(found: Known[tuple[Configuration, ...]], expected: str) -> None:
    """Both configurations call the Service."""
    assert expected == evidence(CHECKS["webhooks-registered"], healthy(ours=found))


def test_left_over() -> None:
    """Another configuration that calls the Service comes from another installation."""
    facts = healthy(others=configurations(a_webhook(), a_webhook(service=("a", "b")), name="old"))

    assert "MutatingWebhookConfiguration old calls" in evidence(CHECKS["webhooks-left-over"], facts)
    assert ["kubectl delete mutatingwebhookconfiguration old"] * 1 == remedies(
        CHECKS["webhooks-left-over"], healthy(others=configurations(a_webhook(), name="old"))
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, "", id="as shipped"),
        pytest.param(
            {"failure_policy": "Fail"}, "warning: mutate.evenkeel.dev has failurePolicy Fail", id="Fail"
        ),
        pytest.param({"side_effects": "NoneOnDryRun"}, "", id="NoneOnDryRun"),
        pytest.param(
            {"side_effects": "Unknown"}, "problem: mutate.evenkeel.dev has sideEffects", id="sideEffects"
        ),
        pytest.param(
            {"match_policy": "Exact"}, "warning: mutate.evenkeel.dev has matchPolicy Exact", id="Exact"
        ),
        pytest.param(
            {"reinvocation_policy": "Never"},
            "warning: mutate.evenkeel.dev has reinvocationPolicy",
            id="Never",
        ),
    ],
)
def test_fields(changes: dict[str, Any], expected: str) -> None:
    """Each field that makes the API server call wrongly is told."""
    told = evidence(CHECKS["webhook-fields"], healthy(ours=configurations(a_webhook(**changes))))

    assert told.startswith(expected)
    assert bool(expected) == bool(told)


def test_failure_policy_of_the_validating_webhook() -> None:
    """Fail is a choice there, as is never to be called again."""
    webhook = a_webhook(kind=VALIDATING, failure_policy="Fail", reinvocation_policy="")

    assert "" == evidence(CHECKS["webhook-fields"], healthy(ours=configurations(webhook)))


def test_command_that_mends_a_field() -> None:
    """It is a patch of the one webhook."""
    facts = healthy(ours=configurations(a_webhook(match_policy="Exact", position=2)))

    expected = (
        "kubectl patch mutatingwebhookconfiguration evenkeel --type=json -p "
        '\'[{"op":"add","path":"/webhooks/2/matchPolicy","value":"Equivalent"}]\''
    )

    assert [expected] == remedies(CHECKS["webhook-fields"], facts)


@pytest.mark.parametrize(
    ("served", "expected"),
    [
        pytest.param({("apps", "deployments"): {"v1"}}, "", id="a kind of Kubernetes"),
        pytest.param({("batch", "cronjobs"): {"v1", "v1beta1"}}, "", id="Equivalent: v1 stands for v1beta1"),
        pytest.param(
            {("batch", "cronjobs"): {"v1beta1"}},
            "warning: no rule of validate.evenkeel.dev matches CronJob.batch, which the cluster serves",
            id="only v1beta1, as before 1.21",
        ),
        pytest.param({("acme.io", "widgets"): {"v1"}}, "", id="a kind that Evenkeel does not know"),
    ],
)
def test_rules_cover_kinds(served: dict[tuple[str, str], set[str]], expected: str) -> None:
    """Kinds that the cluster serves are asked for in a version that it serves."""
    facts = healthy(served=Known({Resource(*name): frozenset(found) for name, found in served.items()}))

    assert expected == evidence(CHECKS["rules-cover-kinds"], facts)


def test_rules_of_custom_resources() -> None:
    """A custom resource whose group no rule has is missed by both."""
    rollouts = Resource("argoproj.io", "rollouts")
    rules = tuple(rule for rule in a_webhook(kind=VALIDATING).rules if "argoproj.io" not in rule.groups)
    facts = healthy(
        served=Known({rollouts: frozenset({"v1alpha1"})}),
        ours=configurations(a_webhook(rules=rules), a_webhook(kind=VALIDATING, rules=rules)),
    )

    assert 2 == evidence(CHECKS["rules-cover-kinds"], facts).count("matches Rollout.argoproj.io")


@pytest.mark.parametrize(
    ("operations", "groups", "resources", "expected"),
    [
        pytest.param(("CREATE",), ("",), ("pods",), "", id="pods"),
        pytest.param(("CREATE",), ("*",), ("*",), "configmaps, events, leases.coordination.k8s.io", id="*"),
        pytest.param(("CREATE",), ("",), ("pods/*",), "pods/binding, pods/status", id="pods/*"),
        pytest.param(
            ("*",), ("",), ("pods",), "UPDATE of pods, DELETE of pods, CONNECT of pods", id="all verbs"
        ),
    ],
)
def test_rules_needless(
    operations: tuple[str, ...], groups: tuple[str, ...], resources: tuple[str, ...], expected: str
) -> None:
    """Rules that ask for more than is reviewed are told with what they ask for."""
    rule = Rule(operations=operations, groups=groups, versions=("*",), resources=resources)
    told = evidence(CHECKS["rules-needless"], healthy(ours=configurations(a_webhook(rules=(rule,)))))

    assert (f"warning: mutate.evenkeel.dev asks for {expected}, which" if expected else "") == told.partition(
        " Evenkeel"
    )[0]


@pytest.mark.parametrize("kind", KNOWN_KINDS, ids=lambda kind: kind.name)
def test_plurals(kind: Any) -> None:
    """The plural of every known kind is that of its resource in the API."""
    irregular = ("y", "s", "x", "h")

    assert not kind.kind.endswith(irregular)
    assert f"{kind.kind.lower()}s" == resource_of(kind).plural
