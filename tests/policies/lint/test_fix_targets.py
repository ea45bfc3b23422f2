"""A text that several builds have is fixed once there, or not at all."""

from __future__ import annotations

import pytest

from policies.config.context import AdmissionContext
from policies.lint.fix import Fixing, FixResult
from policies.lint.fix_edits import Fix
from policies.lint.fix_targets import Fixable, fixes_of
from policies.lint.run import Selection
from policies.lint.workload_loader import load_manifests
from policies.manifests.edits import Edit
from policies.manifests.findings import Severity
from policies.manifests.origins import BuiltObject
from policies.manifests.rewrite import RewriteRefusal
from tests.policies.lint.builds import FILES, OLD_ZONE, ZONE, a_build

CONTEXT = AdmissionContext(policies=())
RENAMES = Selection(select=frozenset({"topology-key-deprecated"}))
EXEMPT = {"evenkeel.dev/ignore": "topology-key-deprecated: moving house"}


def fix(*built: BuiltObject) -> FixResult:
    run = Fixing(context=CONTEXT, selection=RENAMES)
    return run.fix({}, built, FILES.__getitem__)


def no_exemption(_workload: object, _found: object) -> bool:
    return False


@pytest.mark.parametrize(
    ("built", "changed", "made", "left"),
    [
        pytest.param([a_build("a")], ["base/web.yaml"], 1, 0, id="1 overlay"),
        pytest.param([a_build("a"), a_build("b")], ["base/web.yaml"], 1, 0, id="2 overlays, 1 repair"),
        pytest.param(
            [a_build("a", patched=True), a_build("b")],
            ["base/web.yaml", "comp/kustomization.yaml"],
            2,
            0,
            id="2 texts",
        ),
        pytest.param([a_build("a"), a_build("b", annotations=EXEMPT)], [], 0, 1, id="1 of 2 is exempt"),
        pytest.param([a_build("b", annotations=EXEMPT)], [], 0, 0, id="all are exempt"),
    ],
)
def test_fix(built: list[BuiltObject], changed: list[str], made: int, left: int) -> None:
    """The text changes where it says the old name, and nothing else in it."""
    result = fix(*built)

    assert changed == sorted(result.texts)
    assert (made, left) == (len(result.made), len(result.left.findings))
    assert left == len(result.refused)
    assert all(FILES[f].replace(OLD_ZONE.encode(), ZONE.encode()) == text for f, text in result.texts.items())


def test_nowhere() -> None:
    """A value that no text sets is reported, and left alone."""
    manifest = a_build("a")
    manifest.origin.__dict__["layers"] = ()
    result = fix(manifest)

    assert ({}, 1, 1) == (result.texts, len(result.refused), len(result.left.findings))


@pytest.mark.parametrize(
    ("values", "expected"),
    [pytest.param((3, 3), (1, 0), id="3 and 3"), pytest.param((3, 4), (0, 1), id="3 and 4: nobody wins")],
)
def test_values_that_differ(values: tuple[int, int], expected: tuple[int, int]) -> None:
    """Values that overlays would write differently are not written."""
    declared = load_manifests([a_build("a"), a_build("b", patched=True)], CONTEXT).workloads
    refused: list[tuple[Fix, RewriteRefusal]] = []
    found = []
    for entry, value, position in zip(declared, values, (0, 1), strict=True):
        path = entry.kind.constraints_path.index(position).child("maxSkew")
        found.append(Fixable(entry, "odd", Severity.NOTE, path, "is odd", (Edit(path, 1, value),)))
    repairs = list(fixes_of(found, declared, refused, no_exemption))

    assert expected == (len(repairs), len(refused))
    assert all("base/web.yaml:12" == str(repair.location) for repair in repairs)


def test_what_has_no_problem_changes_too() -> None:
    """An object of the same text is as the text makes it, wherever its constraint is."""
    declared = load_manifests([a_build("a"), a_build("b", patched=True)], CONTEXT).workloads
    path = declared[0].kind.constraints_path.index(0).child("maxSkew")
    found = [Fixable(declared[0], "odd", Severity.NOTE, path, "is odd", (Edit(path, 1, 2),))]
    (repair,) = fixes_of(found, declared, [], no_exemption)

    assert [0, 1] == [edits[0].path.segments[-2] for _, edits in repair.objects]
