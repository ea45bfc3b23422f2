"""One suggestion as a diff or a patch."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from planning.explain import json as explain_json
from policies.manifests.edits import Edit
from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.fields import FieldPath
from policies.model.workload_kinds import WorkloadKinds
from tests.builders import a_constraint, a_pod, a_workload
from tests.planning.explain.explanations import UNEVEN, a_spread_pod, an_explanation
from webhook.cli.manifest import read_objects
from webhook.cli.suggestion import kubectl_patch, manifest_diff, suggestion
from webhook.cli.targets import as_manifest, parse_target

EDIT = Edit(FieldPath(("spec", "template", "spec", "tolerations", 0)), None, {"key": "team"})


def _report(**fields: Any) -> dict[str, Any]:
    explained = an_explanation(a_spread_pod(a_constraint(), **fields), *UNEVEN)
    report: dict[str, Any] = json.loads(explain_json.render(explained))
    return report


def test_the_edits_of_a_suggestion() -> None:
    """They are numbered as in the text, from 1."""
    (edit,) = suggestion(_report(), 1)

    assert ("nodeTaintsPolicy", "Honor") == (edit.path.segments[-1], edit.new)


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (2, "changes the cluster: add a node like n3"),
        (99, "no suggestion 99: there are 6"),
        (0, "no suggestion 0"),
    ],
)
def test_no_edits(number: int, told: str) -> None:
    """A change of the cluster is told instead, and how many there are."""
    with pytest.raises(UsageError) as error:
        suggestion(_report(), number)

    assert told in str(error.value)


def test_a_diff_of_the_file(tmp_path: Path) -> None:
    """Only the lines of the change differ, of the right document of the file."""
    file = tmp_path / "all.yaml"
    file.write_text("# first\n" + yaml.safe_dump_all([a_pod(), a_workload()]) + "# last\n")
    lines = manifest_diff((str(file),), read_objects((str(file),))[1], (EDIT,)).decode().splitlines()

    assert [f"--- {file}", f"+++ {file}"] == lines[:2]
    assert ["+      tolerations:", "+      - key: team"] == [line for line in lines[2:] if line[0] in "+-"]


def test_a_file_that_cannot_be_edited(tmp_path: Path) -> None:
    """The part of the file that prevents the edit is reported with its line."""
    file = tmp_path / "web.yaml"
    workload = yaml.safe_dump(a_workload()).replace("    spec:", "    spec: &shared")
    file.write_text(f"{workload}copy: *shared\n")

    with pytest.raises(DocumentError) as error:
        manifest_diff((str(file),), read_objects((str(file),))[0], (EDIT,))
    assert error.value.problems[0].startswith(f"{file}")


def test_a_patch_for_kubectl() -> None:
    """Lists are replaced as a whole, what is not edited is left out, and a shell reads it as it is meant."""
    workload = a_workload(name="web", namespace="shop", spec={"tolerations": [{"key": "it's"}]})
    workload["spec"]["template"]["spec"]["nodeSelector"] = {"a": "b"}
    gone = Edit(FieldPath(("spec", "template", "spec", "nodeSelector")), {"a": "b"}, None)
    added = Edit(FieldPath(("spec", "template", "spec", "tolerations", 1)), None, {"key": "team"})
    target = parse_target(("deploy/web",), WorkloadKinds())
    assert target is not None
    *words, patch = shlex.split(kubectl_patch(target, as_manifest(workload, "web"), (added, gone)))

    assert words == [
        *("kubectl", "patch", "deployment.apps/web", "--namespace", "shop", "--type", "merge", "--patch"),
    ]
    spec = {"tolerations": [{"key": "it's"}, {"key": "team"}], "nodeSelector": None}
    assert {"spec": {"template": {"spec": spec}}} == json.loads(patch)
