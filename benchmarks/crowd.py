"""The linter on one crowded namespace: what a document costs among 50,000, as a ratio to one among 1,000."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from itertools import count, islice, product
from typing import Any, Final

from policies.config.context import AdmissionContext
from policies.lint.reports import json as lint_json
from policies.lint.reports import junit, sarif
from policies.lint.reports.run import LintRun
from policies.lint.run import lint
from policies.manifests.documents import Document, ManifestObject
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Severity

#: Documents of a namespace, the first being what the others are compared with.
SIZES: Final = (1_000, 10_000, 50_000)
#: How many times as much a document may cost among the most: the project's aim. Caches make some difference.
AIM_RATIO: Final = 2.0

#: A way to fill a namespace: gives the objects of one number.
Shape = Callable[[int], Iterator[dict[str, Any]]]


def deployment(name: str, labels: dict[str, str], selector: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a Deployment without a namespace that spreads the pods of a selector over zones."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
    }
    spec = {"topologySpreadConstraints": [constraint], "containers": [{"name": "web", "image": "web"}]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, **fields},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": template},
    }


def _budget(name: str, selector: dict[str, Any]) -> dict[str, Any]:
    spec = {"minAvailable": 1, "selector": selector}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": spec,
    }


def _autoscaler(name: str, target: str) -> dict[str, Any]:
    spec = {"maxReplicas": 9, "scaleTargetRef": {"kind": "Deployment", "name": target}}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": spec,
    }


def _service(name: str, selector: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"selector": selector}}


def _own_labels(number: int) -> Iterator[dict[str, Any]]:
    labels = {"app": f"web-{number}"}
    yield deployment(f"web-{number}", labels, {"matchLabels": labels})


def _one_label_set(number: int) -> Iterator[dict[str, Any]]:
    yield deployment(f"web-{number}", {"app": "web"}, {"matchLabels": {"app": "web"}})


def _shared_label(number: int) -> Iterator[dict[str, Any]]:
    labels = {"app": f"web-{number}", "release": "shop"}
    yield deployment(f"web-{number}", labels, {"matchLabels": {"release": "shop"}})


def _copies(_number: int) -> Iterator[dict[str, Any]]:
    labels = {"app": "web", "release": "shop"}
    yield deployment("web", labels, {"matchLabels": {"release": "shop"}})
    yield _budget("web", {"matchLabels": {"app": "web"}})
    yield _autoscaler("web", "web")


def _copies_apart(number: int) -> Iterator[dict[str, Any]]:
    """One name, other labels each time."""
    labels = {"app": f"web-{number}", "release": "shop"}
    yield deployment("web", labels, {"matchLabels": {"release": "shop"}})


def _with_everything(number: int) -> Iterator[dict[str, Any]]:
    name, labels = f"web-{number}", {"app": f"web-{number}"}
    yield deployment(name, labels, {"matchLabels": labels})
    yield _autoscaler(name, name)
    yield _budget(name, {"matchLabels": labels})
    yield _service(name, labels)


def _budgets_of_all(number: int) -> Iterator[dict[str, Any]]:
    yield deployment(f"web-{number}", {"app": "web"}, {"matchLabels": {"app": "web"}})
    yield _budget(f"web-{number}", {"matchLabels": {"app": "web"}})
    yield _autoscaler(f"web-{number}", "web-0")
    yield _service(f"web-{number}", {"app": "web"})


def _by_presence(number: int) -> Iterator[dict[str, Any]]:
    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    yield deployment(f"web-{number}", {"app": f"web-{number}"}, selector)
    yield _budget(f"web-{number}", selector)


def _by_absence(number: int) -> Iterator[dict[str, Any]]:
    """A selector of its own for each, which selects every other and nothing that is asked for."""
    absent = {"key": "app", "operator": "NotIn", "values": [f"web-{number}"]}
    yield deployment(f"web-{number}", {"app": f"web-{number}"}, {"matchExpressions": [absent]})


SHAPES: Final[dict[str, Shape]] = {
    "own labels": _own_labels,
    "one label set": _one_label_set,
    "a shared label": _shared_label,
    "copies of one": _copies,
    "one name, other labels": _copies_apart,
    "autoscaler, budget and Service each": _with_everything,
    "budgets that select all": _budgets_of_all,
    "selectors by presence": _by_presence,
    "selectors by absence": _by_absence,
}


def manifests(shape: Shape, documents: int, *, folders: bool) -> Iterator[ManifestObject]:
    """Yield so many documents of a shape, all in one file or those of each number in a folder."""
    values = ((number, value) for number in count() for value in shape(number))
    for number, value in islice(values, documents):
        file = f"apps/{number}/all.yaml" if folders else "all.yaml"
        yield ManifestObject(value, FieldPath(), Document(value, file, number, 1))


def report(shape: Shape, documents: int, *, folders: bool) -> int:
    """Lint documents of a shape and report them in three formats; return how many findings there are."""
    result = lint(manifests(shape, documents, folders=folders), AdmissionContext(policies=()))
    run = LintRun(result=result, tool_version="", fail_on=Severity.WARNING)
    for form in (lint_json, junit, sarif):
        form.render(run)
    return len(result.findings)


def _cost_us(shape: Shape, documents: int, *, folders: bool) -> float:
    """Return the processor time of a document, in microseconds."""
    gc.collect()
    started = time.process_time()
    report(shape, documents, folders=folders)
    return (time.process_time() - started) / documents * 1e6


def run() -> None:
    """Print for each shape what a document costs, and how many times that it costs among more."""
    for (name, shape), folders in product(SHAPES.items(), (False, True)):
        first, *others = (_cost_us(shape, size, folders=folders) for size in SIZES)
        among = zip(SIZES[1:], others, strict=True)
        ratios = ", ".join(f"{cost / first:.2f} times that among {size:,}" for size, cost in among)
        where = "a folder each" if folders else "one file"
        print(
            f"evenkeel lint, one namespace, {where}, {name}: {first:.0f} us a document among {SIZES[0]:,}, "
            f"{ratios} (aim: at most {AIM_RATIO})"
        )


if __name__ == "__main__":
    run()
