"""The decision on a policy that is applied."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies.admission.decision import AdmissionVerdict
from policies.admission.policy_review import decide_policy
from policies.config.spread_policy import NOT_INJECTED, DefaultsMode
from policies.model.workload_kinds import WorkloadKinds, parse_workload_kind
from policies.scheduler.configuration import DEFAULT_CONFIG
from tests.builders import a_policy
from tests.policies.config.contexts import a_context
from tests.policies.config.documents import HARD, SOFT

LIVE = a_context(cluster=[], live=True)
BROKEN = a_policy(enforcement="x", scope={"kinds": 3}, rules={"Bad": {}})


def test_every_error_at_once() -> None:
    """The policy is denied with all that is wrong."""
    decision = decide_policy(BROKEN, None, LIVE)

    assert AdmissionVerdict.DENIED is decision.verdict
    assert ["spec.enforcement", "spec.rules[Bad]", "spec.scope.kinds"] == sorted(
        str(error.path) for error in decision.errors
    )


@pytest.mark.parametrize(
    ("obj", "old", "verdict"),
    [
        pytest.param(a_policy(), None, AdmissionVerdict.ALLOWED, id="in order"),
        pytest.param(BROKEN, a_policy(), AdmissionVerdict.DENIED, id="an update that breaks it"),
        pytest.param(BROKEN, BROKEN, AdmissionVerdict.ALLOWED, id="an update of something else"),
        pytest.param(
            a_policy(defaults={"constraints": [HARD]}), None, AdmissionVerdict.WARNED, id="a hard default"
        ),
        pytest.param(
            a_policy(
                defaults={"constraints": [SOFT]}, scope={"namespaceSelector": {"matchLabels": {"a": "b"}}}
            ),
            None,
            AdmissionVerdict.ALLOWED,
            id="what needs a cluster has one",
        ),
        pytest.param(
            a_policy(rules={"no-such-rule": {}}), None, AdmissionVerdict.WARNED, id="an unknown rule"
        ),
    ],
)
def test_verdicts(obj: dict[str, Any], old: dict[str, Any] | None, verdict: AdmissionVerdict) -> None:
    """Errors deny, advice warns, and what changes no spec is always allowed."""
    assert verdict is decide_policy(obj, old, LIVE).verdict


def test_kinds_of_the_server() -> None:
    """A kind that the server was given is one that it knows; others are warned about."""
    widget = a_policy(scope={"kinds": ["Widget"]})
    given = replace(LIVE, kinds=WorkloadKinds([parse_workload_kind("acme.io/Widget=spec.template")]))

    assert AdmissionVerdict.WARNED is decide_policy(widget, None, LIVE).verdict
    assert AdmissionVerdict.ALLOWED is decide_policy(widget, None, given).verdict


@pytest.mark.parametrize(
    ("scheduler", "verdict"),
    [(None, AdmissionVerdict.DENIED), (DEFAULT_CONFIG, AdmissionVerdict.ALLOWED)],
    ids=["the server has no configuration", "it has one"],
)
def test_defaults_of_the_scheduler(scheduler: Any, verdict: AdmissionVerdict) -> None:
    """A policy that would have no effect is an error."""
    context = a_context(cluster=[], live=True, scheduler=scheduler)

    assert verdict is decide_policy(a_policy(defaults={"source": "scheduler"}), None, context).verdict


@pytest.mark.parametrize(
    ("mode", "spec", "told"),
    [
        (DefaultsMode.OFF, {"defaults": {"constraints": [SOFT]}}, [f"spec.defaults: {NOT_INJECTED}"]),
        (DefaultsMode.SOFT, {"defaults": {"constraints": [SOFT]}}, []),
        (DefaultsMode.POLICY, {"defaults": {"constraints": [SOFT]}}, []),
        (DefaultsMode.OFF, {}, []),
    ],
)
def test_defaults_of_a_server_that_injects_nothing(
    mode: DefaultsMode, spec: dict[str, Any], told: list[str]
) -> None:
    """The author reads that they have no effect."""
    decision = decide_policy(a_policy(**spec), None, replace(LIVE, defaults=mode))

    assert told == [str(warning).removeprefix("evenkeel: ") for warning in decision.warnings]
