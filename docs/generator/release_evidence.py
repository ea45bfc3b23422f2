"""Which recorded verdicts tell a change between releases apart: with its flag turned, they differ.

``python -m docs.generator.release_evidence`` finds it out anew, which takes some minutes, and writes it to
``release_evidence.json``; ``make releases`` runs it. A change that no verdict tells apart was compared with
nothing, however many verdicts there are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import orjson

from conformance.case import ConformanceCase, Operation
from conformance.comparison import compare
from conformance.corpus import open_corpus
from planning.explain import score_json
from policies.config.context import AdmissionContext
from policies.manifests.fields import ErrorList
from policies.model.pod_reading import EVERY_AMOUNT, OLDER_AMOUNTS
from policies.scheduler.release_changes import Behavior
from webhook.requests.cluster import filled_in
from webhook.requests.frame import read_request
from webhook.requests.score import ScoreRequest, place_for_scores

#: Where it is kept.
FILE: Final = Path(__file__).with_name("release_evidence.json")
#: How the source of a case begins that was recorded, and not taken from a test of Kubernetes.
MEASURED: Final = "measured"
_FLAGS: Final = tuple(field.name for field in fields(Behavior))
_SERVER: Final = AdmissionContext(policies=())


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of the corpus for one release."""

    measured: int  #: How many cases were recorded from it.
    stated: int  #: How many its own tests state.
    #: For each change that some case tells apart, how many do, and the first of them.
    told: dict[str, tuple[int, str]]


def read_evidence() -> dict[str, Evidence]:
    """Return the stored evidence, by release as the cases name it."""
    return {
        release: Evidence(
            found["measured"],
            found["stated"],
            {name: (count, case) for name, (count, case) in found["told"].items()},
        )
        for release, found in orjson.loads(FILE.read_bytes()).items()
    }


def told_by(case: ConformanceCase) -> Iterator[str]:
    """Yield the flags of ``Behavior`` without which a case would not come out as it was recorded."""
    if case.operation is not Operation.SCORE:
        return
    request, context = _read(case)
    for name in _FLAGS:
        if tells(case, name, request, context):
            yield name


def _read(case: ConformanceCase) -> tuple[ScoreRequest, AdmissionContext]:
    """Return the request of a case, which has no errors, and what it is placed by."""
    request = read_request(ScoreRequest, orjson.dumps(case.request))
    return request, request.context(_SERVER, ErrorList())


def tells(
    case: ConformanceCase,
    name: str,
    request: ScoreRequest | None = None,
    context: AdmissionContext | None = None,
) -> bool:
    """Return whether a case comes out otherwise once a flag is turned.

    Args:
        case: The case, of a score request.
        name: The flag.
        request: The request of the case, if it was read before.
        context: Its context.
    """
    if request is None or context is None:
        request, context = _read(case)
    turned = replace(context.behavior, **{name: not getattr(context.behavior, name)})
    # A running pod is read as some release reads it.
    if turned.reading.amounts not in (EVERY_AMOUNT, *OLDER_AMOUNTS):
        return False
    placement = place_for_scores(filled_in(request.pod), replace(context, judged_as=turned))
    return bool(compare(case.expected, orjson.loads(score_json.render(placement))).different)


def measure() -> dict[str, dict[str, Any]]:
    """Return the evidence of all cases of the corpus, in the form of the file."""
    found: dict[str, dict[str, Any]] = {}
    for position, (_, case) in enumerate(open_corpus().cases()):
        entry = found.setdefault(case.release, {"measured": 0, "stated": 0, "told": {}})
        entry["measured" if case.source.startswith(MEASURED) else "stated"] += 1
        for name in told_by(case):
            count, first = entry["told"].get(name, (0, case.id))
            entry["told"][name] = (count + 1, first)
        if position % 500 == 0:
            sys.stderr.write(f"{position} cases\n")
    return found


def main() -> None:
    """Write the file anew."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS
    FILE.write_bytes(orjson.dumps(measure(), option=options) + b"\n")


if __name__ == "__main__":
    main()
