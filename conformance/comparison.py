"""The comparison of an answer with kube-scheduler's: same, different, or not answered.

Only what a case expects is compared. A field that the answer lacks, or has as null, is not answered, which is
no difference: an implementation may answer less than Evenkeel does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isclose
from typing import Any, Final

from conformance.feature import AnswerField
from policies.scheduler.profile import Plugin

#: Differences of one case that are kept; a report shows fewer.
MOST_DIFFERENCES: Final = 20
#: What the names of fields begin with that are compared with this engine's answer.
_ENGINE: Final = "engine."
#: How close a weight must be: the corpus has nine digits of it.
_WEIGHT_TOLERANCE: Final = 1e-6
#: The lists of constraints of a case, by the constraints of an answer that they are about.
_CONSTRAINTS: Final = {"hardConstraints": "DoNotSchedule", "softConstraints": "ScheduleAnyway"}
#: What a scheduled pod has that a rejected one lacks, and what a scheduler says that chooses among the best.
_NODE: Final = "node"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerDifference:
    """A field that is not as kube-scheduler has it."""

    field: AnswerField  #: The field.
    place: str  #: The node, constraint or step; empty for a field of the whole answer.
    expected: object  #: What kube-scheduler has.
    found: object  #: What the answer has.


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """An answer compared with what a case expects."""

    differences: tuple[AnswerDifference, ...]  #: The first of what differs.
    different: frozenset[AnswerField]  #: The fields that differ.
    compared: frozenset[AnswerField]  #: The fields that were compared.
    unanswered: frozenset[AnswerField]  #: The fields that the answer lacks in some place.


def compare(
    expected: Mapping[str, Any], answer: Mapping[str, Any], engine: Mapping[str, Any] | None = None
) -> Comparison:
    """Compare an answer with what a case expects of it.

    Args:
        expected: What the case expects.
        answer: The answer.
        engine: What this engine answers, in the same form, to compare with, too; its fields begin with
            ``engine.``.
    """
    found = _Comparer()
    _compare(expected, answer, found)
    if engine is not None:
        _compare(engine, answer, own := _Comparer(_ENGINE))
        found.add(own)
    return found.result()


def _compare(expected: Mapping[str, Any], answer: Mapping[str, Any], found: _Comparer) -> None:
    for name in ("preFilter", "preScore", "best", "message", "condition"):
        if name == "best" and _NODE in answer and name in expected:
            found.value(AnswerField(name), "", expected[name], answer[_NODE], same=_is_chosen)
        elif name in expected:
            found.member(AnswerField(name), "", expected, answer, name)
    if "preemption" in expected:
        _compare_preemption(expected["preemption"], answer.get("preemption"), found)
    if "nodes" in expected:
        _compare_nodes(expected["nodes"], answer.get("nodes"), found)
    for name, action in _CONSTRAINTS.items():
        if name in expected:
            _compare_constraints(name, expected[name], answer.get("constraints"), action, found)
    if "steps" in expected:
        _compare_steps(expected["steps"], answer.get("steps"), found)


class _Comparer:
    """Takes what is compared, field by field."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._differences: list[AnswerDifference] = []
        self._different: set[AnswerField] = set()
        self._compared: set[AnswerField] = set()
        self._unanswered: set[AnswerField] = set()

    def result(self) -> Comparison:
        return Comparison(
            differences=tuple(self._differences),
            different=frozenset(self._different),
            compared=frozenset(self._compared),
            unanswered=frozenset(self._unanswered),
        )

    def add(self, other: _Comparer) -> None:
        """Add what differs in another comparison of the answer."""
        self._differences += other._differences
        self._different |= other._different
        self._compared |= other._compared

    def lacks(self, field: AnswerField) -> None:
        self._unanswered.add(field)

    def value(
        self,
        field: AnswerField,
        place: str,
        expected: object,
        found: object,
        *,
        same: Callable[[Any, Any], bool] | None = None,
    ) -> None:
        """Compare a value that the answer has."""
        field = field._replace(name=self._prefix + field.name)
        self._compared.add(field)
        if (same or _same)(expected, found):
            return
        self._different.add(field)
        if len(self._differences) < MOST_DIFFERENCES:
            self._differences.append(
                AnswerDifference(field=field, place=place, expected=expected, found=found)
            )

    def member(
        self,
        field: AnswerField,
        place: str,
        expected: Mapping[str, Any],
        found: Mapping[str, Any],
        name: str,
        *,
        same: Callable[[Any, Any], bool] | None = None,
    ) -> None:
        """Compare a member of an object, if the answer has it."""
        if found.get(name) is None:
            self.lacks(field)
        else:
            self.value(field, place, expected[name], found[name], same=same)


def _compare_preemption(expected: Mapping[str, Any], raw: object, found: _Comparer) -> None:
    """Compare which node is nominated, and which pods are evicted there; null says that none is."""
    answered = raw if isinstance(raw, dict) else {"nominated": []}
    for key in expected:
        field = AnswerField(f"preemption.{key}")
        if key == "nominated" and _NODE in answered:
            found.value(field, "", expected[key], answered[_NODE], same=_is_chosen)
        else:
            found.member(field, "", expected, answered, key, same=_same_victims if key == "victims" else None)


def _compare_nodes(expected: Mapping[str, Any], raw: object, found: _Comparer) -> None:
    nodes = _by_name(raw)
    if nodes is None:
        for field in sorted({field for node in expected.values() for field in _fields(node)}):
            found.lacks(field)
        return
    found.value(AnswerField("nodes.name"), "", sorted(expected), sorted(nodes), same=_covers)
    for name, wanted in expected.items():
        node = nodes.get(name)
        if node is None:
            continue
        for key in ("feasible", "rawScore", "score", "total"):
            if key in wanted:
                found.member(_node_field(key), name, wanted, node, key)
        if "rejections" in wanted:
            _compare_rejections(name, wanted["rejections"], node.get("rejections"), found)
        if "plugins" in wanted:
            _compare_scores(name, wanted["plugins"], node.get("plugins"), found)


def _node_field(key: str) -> AnswerField:
    """Return the field of a node; raw and normalized scores are PodTopologySpread's."""
    spread = str(Plugin.POD_TOPOLOGY_SPREAD) if key in ("rawScore", "score") else ""
    return AnswerField(f"nodes.{key}", spread)


def _fields(node: Mapping[str, Any]) -> Iterable[AnswerField]:
    """Return the fields of a node that a case expects."""
    for key, value in node.items():
        if key in ("rejections", "plugins"):
            yield from (AnswerField(f"nodes.{key}", plugin) for plugin in value)
        else:
            yield _node_field(key)


def _compare_rejections(node: str, expected: Mapping[str, Any], raw: object, found: _Comparer) -> None:
    """Compare which plugins reject a node and why; null says that a plugin does not."""
    rejections = _by_name(raw, "plugin")
    for plugin, wanted in expected.items():
        field = AnswerField("nodes.rejections", plugin)
        if rejections is None:
            found.lacks(field)
            continue
        rejection = rejections.get(plugin)
        if wanted is None or rejection is None:
            found.value(field, node, wanted, rejection)
            continue
        found.value(field, node, plugin, plugin)
        for key in wanted:
            found.member(
                AnswerField(f"nodes.rejections.{key}", plugin), node, wanted, rejection, key,
                same=_same_reasons if key == "reason" else None,
            )  # fmt: skip


def _compare_scores(node: str, expected: Mapping[str, Any], raw: object, found: _Comparer) -> None:
    """Compare the scores by plugin. One that the case does not have adds nothing."""
    scores = raw if isinstance(raw, dict) else None
    for plugin, wanted in expected.items():
        field = AnswerField("nodes.plugins", plugin)
        if scores is None:
            found.lacks(field)
            continue
        score = scores.get(plugin)
        if not isinstance(score, dict):
            found.value(field, node, wanted, score)
            continue
        for key in wanted:
            found.member(AnswerField(f"nodes.plugins.{key}", plugin), node, wanted, score, key)
    for plugin in sorted(map(str, (scores or {}).keys() - expected.keys())):
        added = (scores or {})[plugin]
        weighted = added.get("weighted") if isinstance(added, dict) else added
        found.value(AnswerField("nodes.plugins.weighted", plugin), node, 0, weighted or 0)


def _compare_constraints(
    name: str, expected: list[dict[str, Any]], raw: object, action: str, found: _Comparer
) -> None:
    field = AnswerField("constraints")
    if not isinstance(raw, list):
        found.lacks(field)
        return
    having = [entry for entry in raw if isinstance(entry, dict) and entry.get("whenUnsatisfiable") == action]
    found.value(field, name, len(expected), len(having))
    for position, (wanted, entry) in enumerate(zip(expected, having, strict=False)):
        place = f"{name}[{position}]"
        if "domains" in wanted:
            domains = _by_name(entry.get("domains"), "value")
            counts = {value: domain.get("matching") for value, domain in (domains or {}).items()}
            found.member(
                AnswerField("constraints.domains"),
                place,
                wanted,
                {"domains": counts if domains is not None else None},
                "domains",
            )
        if "globalMinimum" in wanted:
            found.member(AnswerField("constraints.globalMinimum"), place, wanted, entry, "globalMinimum")
        if "weight" in wanted:
            found.member(AnswerField("constraints.weight"), place, wanted, entry, "weight", same=_close)


def _compare_steps(expected: list[dict[str, Any]], raw: object, found: _Comparer) -> None:
    """Compare what became of each pod. The absence of a node says that a pod was rejected."""
    if not isinstance(raw, list):
        for name in sorted({name for step in expected for name in step}):
            found.lacks(AnswerField(f"steps.{name}"))
        return
    found.value(AnswerField("steps"), "", len(expected), len(raw))
    for position, (wanted, entry) in enumerate(zip(expected, raw, strict=False)):
        step, place = entry if isinstance(entry, dict) else {}, f"steps[{position}]"
        if _NODE in step and "tied" in wanted and "tied" not in step:
            found.value(AnswerField("steps.node"), place, wanted["tied"], step[_NODE], same=_is_chosen)
        elif _NODE in step or _NODE not in wanted:
            found.value(AnswerField("steps.node"), place, wanted.get(_NODE), step.get(_NODE))
        elif "message" in step:
            found.value(AnswerField("steps.node"), place, wanted[_NODE], None)
        else:
            found.lacks(AnswerField("steps.node"))
        for name in wanted.keys() - {_NODE}:
            found.member(AnswerField(f"steps.{name}"), place, wanted, step, name)


def _by_name(raw: object, key: str = "name") -> dict[str, dict[str, Any]] | None:
    """Return the objects of a list by one of their members; None if it is no such list."""
    if not isinstance(raw, list):
        return None
    return {
        str(entry[key]): entry for entry in raw if isinstance(entry, dict) and isinstance(entry.get(key), str)
    }


def _same(expected: object, found: object) -> bool:
    # In Python True is 1; in JSON it is not.
    return isinstance(expected, bool) == isinstance(found, bool) and expected == found


def _is_chosen(expected: list[str], found: object) -> bool:
    """Return whether a node is one of those with the highest total; empty where there is none."""
    return found in expected if expected else not found


def _same_victims(expected: dict[str, list[str]], found: object) -> bool:
    """Return whether the same pods are evicted, in whatever order."""
    return isinstance(found, dict) and {node: sorted(names) for node, names in expected.items()} == {
        node: sorted(names) if isinstance(names, list) else names for node, names in found.items()
    }


def _covers(expected: list[str], found: list[str]) -> bool:
    """Return whether all expected nodes are there: a case may know only some of its nodes."""
    return set(expected) <= set(found)


def _same_reasons(expected: str, found: object) -> bool:
    """Return whether the reasons are the same; NodeResourcesFit's come in the order of a Go map."""
    return isinstance(found, str) and sorted(expected.split(", ")) == sorted(found.split(", "))


def _close(expected: float, found: object) -> bool:
    number = isinstance(found, int | float) and not isinstance(found, bool)
    return number and isclose(expected, float(str(found)), abs_tol=_WEIGHT_TOLERANCE)
