"""How many modules one review and one linted manifest pass through: a reader must follow all of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType

import orjson
import pytest
import yaml

from policies.admission.decision import AdmissionVerdict, Decision
from policies.admission.injection import decide_mutation
from policies.admission.validation import decide_validation
from policies.config.context import AdmissionContext
from policies.lint.run import lint
from policies.manifests.documents import load, objects
from policies.model.workload import Workload
from tests.builders import a_constraint, a_pod, a_policy, a_workload
from tests.policies.config.contexts import a_context, defaults

ROOT = Path(__file__).parents[2]
REPLICA_SET = ("apps/v1", "ReplicaSet", "web-1")
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"app": "web"}},
}
GOOD, BAD = ({"topologySpreadConstraints": [a_constraint(maxSkew=skew)]} for skew in (1, 0))


def modules_of(work: Callable[[], object]) -> set[str]:
    """Return the modules of policies whose functions are called; rules, which run side by side, are one."""
    files = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    own = [Path(file).relative_to(ROOT) for file in files if file.startswith(f"{ROOT}/policies/")]
    rules = {"policies/rules" for path in own if path.parent.name == "rules"}
    return rules | {path.as_posix() for path in own if path.parent.name != "rules"}


def decide(obj: dict[str, object], context: AdmissionContext, *, mutate: bool) -> Decision:
    """Decide on an object as the webhook does, from JSON on."""
    kind = context.kind_of(obj)
    assert kind is not None
    read = orjson.loads(orjson.dumps(obj))
    user = "system:serviceaccount:kube-system:replicaset-controller"
    workload = Workload.read(read, kind, "shop", release=context.release, user=user, stored=False)
    return decide_mutation(workload, context) if mutate else decide_validation(workload, None, context)


@pytest.mark.parametrize(
    ("obj", "mutate", "verdict", "most"),
    [
        pytest.param(a_pod(spec=GOOD, owner=REPLICA_SET), False, AdmissionVerdict.ALLOWED, 8, id="a pod"),
        pytest.param(a_pod(owner=REPLICA_SET), True, AdmissionVerdict.INJECTED, 11, id="a pod gets defaults"),
        pytest.param(
            a_pod(spec=BAD, owner=REPLICA_SET), False, AdmissionVerdict.DENIED, 10, id="a denied pod"
        ),
        pytest.param(a_workload(spec=GOOD), False, AdmissionVerdict.ALLOWED, 19, id="a Deployment"),
    ],
)
def test_reviews(obj: dict[str, object], verdict: AdmissionVerdict, most: int, *, mutate: bool) -> None:
    """A review passes through few modules; most are of pods of controllers."""
    context = a_context(a_policy(defaults=defaults()), cluster=[SERVICE])
    assert verdict is decide(obj, context, mutate=mutate).verdict
    assert most >= len(found := modules_of(lambda: decide(obj, context, mutate=mutate))), sorted(found)


def test_linted_manifests() -> None:
    """A linted manifest passes through few modules."""
    text = yaml.safe_dump(a_workload(spec=GOOD)).encode()

    def run(context: AdmissionContext) -> Iterable[object]:
        return lint(
            (entry for document in load(text, "web.yaml") for entry in objects(document)), context
        ).findings

    context = AdmissionContext(policies=())
    assert [] == run(context)
    assert len(found := modules_of(lambda: run(context))) <= 17, sorted(found)
