"""The context of reviews, and the reports on the cluster, while its cache is old, young, or missing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from policies.config.context import AdmissionContext
from policies.config.policy_set import PolicySet
from policies.config.spread_policy import NOT_INJECTED, DefaultsMode
from tests.policies.config.documents import SOFT, policy_of
from tests.webhook.clusters import Kind, Live, following
from webhook.admission.current_context import CurrentContext
from webhook.component import Confidential
from webhook.kube.kind_record import LeftOutObject


@pytest.mark.parametrize(
    ("live", "ready", "why"),
    [
        pytest.param(Live(), True, "", id="5 s old"),
        pytest.param(Live(age=180.0), True, "", id="180 s old, 180 allowed"),
        pytest.param(Live(age=181.0), True, "the cluster cache is 181 s old", id="181 s old"),
        pytest.param(
            Live([Kind("Pod", refused_s=5.0, last_error="403"), Kind("Node")]), True, "", id="refused for 5 s"
        ),
        pytest.param(
            Live([Kind("Pod", refused_s=5.1, last_error="403"), Kind("Node")]),
            True,
            "the API server refuses to list or watch Pod (403)",
            id="refused for 5.1 s",
        ),
        pytest.param(
            Live([Kind("Pod", synced=False, last_error="may not list pods"), Kind("Node")]),
            False,
            "the cluster is not listed yet: Pod (may not list pods)",
            id="1 kind never listed",
        ),
    ],
)
def test_live_cluster(live: Live, *, ready: bool, why: str) -> None:
    """Without a usable cache reviews are decided without it; only who never had one gets no requests."""
    current = following(live)
    decided_by = current.usable()
    told = f"{why}: nothing that depends on the cluster is reported or injected"

    assert ("" if ready else why) == current.unsynced()
    assert ([told] if why and ready else []) == current.warnings()
    assert (not why) == (decided_by.cluster is not None)
    assert why == decided_by.withheld


def test_what_is_left_out() -> None:
    """An object that cannot be read is said as long as it is there."""
    live = Live(broken=[LeftOutObject(kind="Pod", namespace="shop", name="web", reason="it is null")])
    current = following(live)
    [during] = current.warnings()
    live.broken.clear()

    assert "Pod shop/web" in during
    assert isinstance(during, Confidential)
    assert [] == current.warnings()


def test_what_is_not_read() -> None:
    """A kind that the cluster is read without is said, and keeps no request away."""
    current = following(Live(not_read={"csiNodes": "no right to list and watch csinodes.storage.k8s.io"}))
    [warning] = current.warnings()

    assert "csiNodes (no right" in warning
    assert ("", current.context) == (current.unsynced(), current.usable())


def test_without_a_cluster() -> None:
    """There is nothing to wait for, to warn of, or to start."""
    current = CurrentContext(AdmissionContext(policies=()))
    current.start()
    current.stop()

    assert ("", []) == (current.unsynced(), current.warnings())
    assert current.context is current.usable()


@pytest.mark.parametrize(
    ("mode", "spec", "warns"),
    [
        pytest.param(DefaultsMode.OFF, {"defaults": {"constraints": [SOFT]}}, True, id="off"),
        pytest.param(DefaultsMode.OFF, {}, False, id="off, and no policy has any"),
        pytest.param(DefaultsMode.POLICY, {"defaults": {"constraints": [SOFT]}}, False, id="policy"),
    ],
)
def test_defaults_that_are_not_injected(*, mode: DefaultsMode, spec: dict[str, Any], warns: bool) -> None:
    """Replicas say so, and with them doctor."""
    warnings = CurrentContext(AdmissionContext(policies=(policy_of(**spec),), defaults=mode)).warnings()

    assert warns == (NOT_INJECTED in str(warnings))


def test_a_cache_that_is_young_again() -> None:
    """A withheld cache is used again when it is young again, which is checked once a second."""
    clock, live = [0.0], Live(age=999.0)
    current = following(live, clock=clock)

    assert current.usable().withheld
    live.age = 1.0
    assert current.usable().withheld
    clock[0] = 1.5
    assert current.context is current.usable()


def test_one_looks_at_a_time() -> None:
    """While one thread looks at the cache, another goes by what was found last, and does not wait."""
    clock, live = [0.0], Live(age=999.0)
    current = following(live, clock=clock)
    seen = []

    def age_s() -> float:
        clock[0] += 5
        with ThreadPoolExecutor(1) as pool:
            seen.append(pool.submit(current.usable).result(10))
        return 999.0

    live.age_s = age_s  # type: ignore[method-assign]

    assert current.usable().withheld
    assert [current.context] == seen


@pytest.mark.parametrize("age", [5.0, 999.0], ids=["with the cluster", "without the cluster"])
def test_other_policies_in_force(age: float) -> None:
    """The next review is decided by them, one that has begun by what it began with."""
    current = following(Live(age=age))
    before = current.usable()
    policies = PolicySet([policy_of(enforcement="audit")])
    current.enforce(policies)

    assert policies is current.usable().policies
    assert before.policies != policies
    assert bool(current.usable().withheld) == (age > 180)
