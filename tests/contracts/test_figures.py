"""Figures that pages state about the program are those of the program."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from pathlib import Path

import pytest

from conformance.cluster_sample import why_not_asked
from conformance.command import _USUAL_SAMPLE
from conformance.corpus import open_corpus
from conformance.implementation import MOST_ANSWER_BYTES
from conformance.run import MOST_USELESS
from docs.generator.release_evidence import read_evidence
from docs.generator.releases import _flags
from planning.advise import advise, goal_simulator
from planning.audit import deletion_costs, rebalance
from planning.autoscaler import node_group, scale_up
from planning.simulation import limits, replicas, scale_down, scale_ups
from planning.simulation.rollout import courses
from planning.simulation.suggestions import outvoted
from policies.admission import decision, review_cost
from policies.config import policy_resource, policy_validation
from policies.emit.cel import LIMITS, MAX_CHARACTERS
from policies.manifests import fields, object_stream, yaml_events
from policies.model import validation
from policies.model.version import KubernetesVersion
from policies.reports import markdown
from tests.recorded import DATA
from tests.security import test_forms, test_owners, test_strangers
from webhook.admission import review
from webhook.http import api, path_tokens, state
from webhook.http.authorization import authorizer
from webhook.http.authorization.token_reviewer import Result
from webhook.lint import git_revision, gitignore, tool_limits
from webhook.requests import audit as audit_request
from webhook.requests.placement import PodLimit
from webhook.settings import Settings
from webhook.skew import controller as skew
from webhook.skew import event_writer
from webhook.ui import app as ui
from webhook.ui import background_audit, bodies, embedded, readings
from webhook.ui import server as ui_server

ROOT = Path(__file__).parents[2]
MIB = 2**20
SETTINGS = Settings(self_signed=True)
#: How many changes of releases the recorded cases of each release tell apart.
TOLD = [len(found.told) for found in read_evidence().values() if found.measured]
CHANGES = len(_flags())
CASES = [case for _, case in open_corpus().cases()]
#: Why the cases cannot be put to a cluster, each reason as often as it holds, "" for those that can.
NOT_ASKED = Counter(why_not_asked(case, KubernetesVersion(1, 36)) for case in CASES)


def _recorded(name: str) -> list[bytes]:
    return gzip.decompress((DATA / name).read_bytes()).splitlines()


SCALE_UPS = _recorded("scale-ups.jsonl.gz")
LOOPS = [line for line in SCALE_UPS if b'"loops":' in line]

#: What a page says, with N in place of each figure, and the figures.
FIGURES: list[tuple[str, str, list[float]]] = [
    ("README.md", "tell N to N of the N changes", [min(TOLD), max(TOLD), CHANGES]),
    ("docs/admission.md", "at most three warnings of N characters", [decision.MAX_WARNING_LENGTH]),
    ("docs/admission.md", "more than N entries on all levels", [validation.MAX_SIZE]),
    ("docs/admission.md", "more than N entries of the pod", [review_cost.MAX_READ]),
    ("docs/admission.md", "more than N counted steps", [review_cost.MAX_STEPS]),
    ("docs/admission.md", "may have N MiB (`--max-review-bytes`)", [SETTINGS.max_review_bytes / MIB]),
    ("docs/admission.md", "nested below N levels", [yaml_events.MAX_DEPTH]),
    ("docs/admission.md", "more than N values", [review.MAX_VALUES]),
    ("docs/advise.md", "own number; at most N.", [limits.MOST_ADVISED]),
    ("docs/advise.md", "room for N pods each", [node_group.USUAL_PODS]),
    (
        "docs/advise.md",
        "At most N sets are tried, and N replicas placed",
        [advise.MOST_TRIED, advise.MOST_PLACED],
    ),
    ("docs/advise.md", "a cluster of up to N nodes", [goal_simulator.MOST_NODES]),
    ("docs/audit.md", "at most N characters", [markdown.MAX_LENGTH]),
    ("docs/audit.md", "shows the N riskiest workloads", [audit_request.DEFAULT_TOP]),
    ("docs/audit.md", "after N % of that the audit ends", [api._WORK_SHARE * 100]),
    (
        "docs/autoscale.md",
        "Beyond N replicas times nodes and replicas of a workload, and N times as many",
        [scale_ups.MOST_COMPARED, scale_ups._MOST_WORKLOADS],
    ),
    ("docs/autoscale.md", "at most N nodes a scale-up", [scale_up.MOST_NODES]),
    ("docs/autoscale.md", "After N pods that were tried elsewhere", [scale_down.MOST_TRIED]),
    (
        "docs/autoscale.md",
        "with N recorded clusters of its own planner",
        [len(_recorded("scale-downs.jsonl.gz"))],
    ),
    (
        "docs/autoscale.md",
        "with N recorded clusters and N sequences of loops",
        [len(SCALE_UPS) - len(LOOPS), len(LOOPS)],
    ),
    ("docs/conformance.md", "Of the N cases N can be asked", [len(CASES), NOT_ASKED[""]]),
    (
        "docs/conformance.md",
        "N have scores or verdicts of single plugins alone, N are of other releases, and N need",
        [
            NOT_ASKED["only scores, counts or verdicts of single plugins are known"],
            NOT_ASKED["of another release than 1.36"],
            NOT_ASKED["default constraints of another configuration"],
        ],
    ),
    ("docs/conformance.md", "N to N of N for each release", [min(TOLD), max(TOLD), CHANGES]),
    ("docs/conformance.md", "sends the N requests", [len(CASES)]),
    ("docs/conformance.md", "the first N answers", [MOST_USELESS]),
    ("docs/conformance.md", "An answer may have at most N MiB", [MOST_ANSWER_BYTES / MIB]),
    ("docs/conformance.md", "A run draws N cases", [_USUAL_SAMPLE]),
    ("docs/emit.md", "`matchExpressions` with N values", [LIMITS["values"]]),
    ("docs/emit.md", "texts of N characters", [MAX_CHARACTERS]),
    ("docs/install.md", "for N hours more", [path_tokens.OVERLAP_S / 3600]),
    ("docs/lint.md", "Of one rule, N errors of one object", [fields.MAX_ERRORS]),
    (
        "docs/lint.md",
        "at most N s, N s of processor time, N GiB of memory and N MiB of output",
        [
            tool_limits.TIMEOUT_S,
            tool_limits.PROCESSOR_S,
            tool_limits.MAX_MEMORY / MIB / 1024,
            tool_limits.MAX_OUTPUT / MIB,
        ],
    ),
    (
        "docs/lint.md",
        "may take N s of processor time beyond N s each",
        [tool_limits.EXTRA_S, tool_limits.ORDINARY_S],
    ),
    ("docs/operate.md", "takes N % of a core at most", [skew.SHARE * 100]),
    ("docs/operate.md", "A sweep begins every N s", [skew.SWEEP_EVERY_S]),
    ("docs/operate.md", "At most N are written in a minute", [event_writer.MAX_PER_MINUTE]),
    ("docs/explain.md", "one after another (at most N)", [replicas.MOST_PLACED]),
    (
        "docs/plan.md",
        "At most N files and N MiB are read",
        [git_revision.MAX_FILES, git_revision.MAX_BYTES / MIB],
    ),
    ("docs/plan.md", "files of more than N MiB", [git_revision.MAX_FILE / MIB]),
    (
        "docs/policies.md",
        "may have N entries in each list or map, and N in all of them; in a cluster, its spec may have N KiB",
        [policy_validation.MAX_ITEMS, policy_validation.MAX_ENTRIES, policy_resource.MAX_SPEC_BYTES / 1024],
    ),
    ("docs/policies.md", "looks for N s at most", [state.LONGEST_PREVIEW_S]),
    ("docs/audit.md", "Up to N evictions are tried", [rebalance.MOST_TRIED]),
    ("docs/audit.md", "unless N choices were tried", [deletion_costs.MOST_TRIED]),
    ("docs/scheduling-model.md", "takes at most N evaluations", [outvoted.MOST_EVALUATIONS]),
    ("docs/security.md", "have N counted steps together", [review_cost.MAX_STEPS]),
    (
        "docs/security.md",
        "A review has N MiB and N values",
        [SETTINGS.max_review_bytes / MIB, review.MAX_VALUES],
    ),
    (
        "docs/security.md",
        "A policy has N entries in a list and N in all",
        [policy_validation.MAX_ITEMS, policy_validation.MAX_ENTRIES],
    ),
    ("docs/security.md", "one at a time, for N s at most", [state.LONGEST_PREVIEW_S]),
    ("docs/security.md", "a TokenReview; N a second", [authorizer._ASKED_PER_S]),
    ("docs/security.md", "N patterns of `.gitignore`", [gitignore.MAX_PATTERNS]),
    (
        "docs/security.md",
        "N MiB, N s of silence and N connections",
        [ui.MOST_BODY_BYTES / MIB, ui_server._READ_TIMEOUT_S, ui_server._MOST_CONNECTIONS],
    ),
    ("docs/security.md", "N KiB of a manifest", [bodies.MOST_TEXT_BYTES / 1024]),
    ("docs/security.md", "`.gitignore` are in force at once, N KiB of them", [gitignore.MAX_PREPARED / 1024]),
    ("docs/security.md", "holds it for N generated forms", [4 * test_forms.FORMS]),
    ("docs/security.md", "tries N requests, of every user", [sum(1 for _ in test_owners.requests())]),
    ("docs/security.md", "about two clusters for N objects", [sum(1 for _ in test_strangers.bodies())]),
    ("docs/reference/machine-forms.md", "with N nodes these are N, all runs", [5_000, PodLimit(5_000).most]),
    ("docs/ui.md", "The next reading comes N s after the last", [readings._SOONEST_S]),
    ("docs/ui.md", "may take N s of processor time", [readings.PROCESSOR_S]),
    ("docs/ui.md", "up to N nodes", [background_audit.MOST_SENT]),
    ("docs/ui.md", "more than N MiB is refused", [embedded.MOST_BYTES / MIB]),
    ("docs/what-if.md", "these are few (at most N)", [courses.MOST_COURSES]),
    ("docs/what-if.md", "At most N replicas of a workload are rolled out", [limits.MOST_ROLLED_OUT]),
    ("docs/decisions/admission.md", "three texts of N characters", [decision.MAX_WARNING_LENGTH]),
    (
        "docs/decisions/installation.md",
        "cached for N s, negative ones for N s",
        [
            authorizer.LIFETIMES_S[Result.ALLOWED],
            authorizer.LIFETIMES_S[Result.DENIED],
        ],
    ),
    ("docs/decisions/manifests.md", "read at once, up to N MiB", [object_stream.MAX_WHOLE / MIB]),
    ("docs/decisions/ui.md", "N objects for each child process", [background_audit.PIECE]),
    ("docs/decisions/validation.md", "most N errors of each rule", [fields.MAX_ERRORS]),
]


@pytest.mark.parametrize(
    ("page", "says", "figures"), FIGURES, ids=[f"{page}: {says}" for page, says, _ in FIGURES]
)
def test_a_figure_is_that_of_the_program(page: str, says: str, figures: list[float]) -> None:
    """Who changes a limit, or records more, changes the page."""
    text = " ".join((ROOT / page).read_text().split())
    pattern = re.sub(r"\bN\b", r"(\\d[\\d,.]*\\d|\\d)", re.escape(says))
    found = re.findall(pattern, text)

    assert found, "the page says something else"
    for each in found:
        stated = [each] if isinstance(each, str) else each
        assert figures == pytest.approx([float(figure.replace(",", "")) for figure in stated])


def test_the_readme_names_what_was_recorded() -> None:
    """Each release of which verdicts were recorded, and no other."""
    text = (ROOT / "README.md").read_text()
    named = re.findall(
        r"1\.\d\d(?:\.\d+)?",
        text.partition("every verdict that was recorded")[2].partition("and the rules")[0],
    )
    recorded = {KubernetesVersion.parse(name) for name, found in read_evidence().items() if found.measured}

    assert recorded == {KubernetesVersion.parse(name) for name in named}
