"""What would make a pod fit, in words: edits of the manifest as a person would make them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from policies.edits import Edit
from policies.engine.changes import What
from policies.engine.question import Origin
from policies.evaluation.placement import Placement
from policies.evaluation.remedies import Elsewhere, Remedies, Remedy
from policies.fields import shown
from policies.reports.wording import item, named, plain

#: Entries of an object or a list that are repeated. Arbitrary; a toleration has four.
MOST_ENTRIES: Final = 5
#: Characters of a value that are repeated. Arbitrary.
VALUE_LENGTH: Final = 120
#: Characters up to which a value that is taken away is repeated. Arbitrary; a node selector.
REMOVED_LENGTH: Final = 40

#: What the absent fields of a constraint stand for.
_DEFAULTS: Final = {"nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"}


def remedies_text(remedies: Remedies, placement: Placement) -> Iterator[RenderableType]:
    """Yield what would make a pod fit, the smallest change first, or that nothing that was tried would."""
    if not remedies.found:
        tried = f"{remedies.verdicts:,} tried" if remedies.verdicts else "nothing is left to try"
        yield Text(f"No one or two changes of the manifest that Evenkeel knows ({tried}).")
    for number, remedy in enumerate(remedies.found, start=1):
        yield from _remedy(number, remedy, placement)
    if len(remedies.found) > 1:
        yield Text("Any one of these is enough, as judged on this cluster; the first gives up least.", "dim")
    if not remedies.complete:
        yield Text(f"There may be more: the search ended after {remedies.verdicts:,} verdicts.")


def _remedy(number: int, remedy: Remedy, placement: Placement) -> Iterator[RenderableType]:
    lines = [*map(_edit, remedy.edits)]
    lines += (_elsewhere(entry, placement) for entry in remedy.elsewhere)
    head, *more = (Text(line, "bold" if number == 1 else "") for line in lines)
    yield item(number, head)
    for line in more:
        yield Padding(Text.assemble("and ", line), (0, 0, 0, 3))
    yield Padding(Text(f"then it fits {named(remedy.examples, remedy.feasible)}"), (0, 0, 0, 3))
    if remedy.elsewhere:
        text = "or give the pod constraints of its own, which replace all of these"
        yield Padding(Text(text), (0, 0, 0, 3))


def _edit(edit: Edit) -> str:
    path = plain(str(edit.path))
    if edit.new is None:
        old = _flow(edit.old)
        return f"remove {path}{f' ({old})' if len(old) <= REMOVED_LENGTH else ''}"
    if edit.old is None:
        default = _DEFAULTS.get(str(edit.path.segments[-1]))
        return f"add {path}: {_flow(edit.new)}{f' (now {default} by default)' if default else ''}"
    return f"{path}: {_flow(edit.new)} (now {_flow(edit.old)})"


def _elsewhere(elsewhere: Elsewhere, placement: Placement) -> str:
    constraint, change = elsewhere.constraint, elsewhere.change
    origin = placement.verdict.results[0].applied.origin
    where = "the scheduler's defaultConstraints"
    if origin is Origin.POLICY:
        where = f"the defaults of SpreadPolicy {plain(placement.policy or '')}"
    which = f"{plain(constraint.topology_key)} {constraint.when_unsatisfiable}"
    if change.what is What.CONSTRAINT:
        return f"in {where}, remove the constraint {which}"
    return f"in {where}, for {which}: {change.what} {change.value}"


def _flow(value: Any) -> str:
    """Return a value as YAML writes it on one line, cut where it is long."""
    text = _flowed(value)
    return text if len(text) <= VALUE_LENGTH else f"{text[: VALUE_LENGTH - 3]}..."


def _flowed(value: Any) -> str:
    match value:
        case dict():
            entries = [f"{plain(str(key))}: {_flowed(entry)}" for key, entry in _some(value.items())]
            return f"{{{', '.join(entries)}{_rest(value)}}}"
        case list():
            return f"[{', '.join(map(_flowed, _some(value)))}{_rest(value)}]"
        case str():
            return plain(value) or '""'
    return shown(value)


def _some(entries: Any) -> list[Any]:
    return [entry for _, entry in zip(range(MOST_ENTRIES), entries, strict=False)]


def _rest(entries: Any) -> str:
    return ", ..." if len(entries) > MOST_ENTRIES else ""
