"""`evenkeel policy emit`: policies for the API server, and what it says of the rest."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result

from docs.generator.published import report_schemas
from policies.emit.emitted import PolicyKind
from policies.manifests.errors import UsageError
from webhook.cli.policy import command
from webhook.cli.terminal import ExitCode

POLICY = """\
apiVersion: evenkeel.dev/v1alpha1
kind: SpreadPolicy
metadata: {name: production}
spec:
  scope: {namespaces: ["team-*"]}
  defaults:
    at: workloads
    constraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
"""


def emit(*arguments: str, stdin: str = POLICY) -> Result:
    return CliRunner().invoke(command, ("emit", *arguments), input=stdin)


@pytest.mark.parametrize("kind", PolicyKind)
def test_yaml_and_json(kind: PolicyKind) -> None:
    """Both forms hold the same objects, each policy with its binding, and list the same reasons."""
    text, report = emit("--as", kind.value, "-"), emit("--as", kind.value, "-", "-o", "json")
    objects = list(yaml.safe_load_all(text.stdout))
    told = json.loads(report.stdout)

    jsonschema.validate(told, report_schemas()["policies/emit/policy_emit.schema.json"])
    assert (0, 0) == (text.exit_code, report.exit_code)
    assert objects == told["objects"]
    assert [entry["spec"]["policyName"] for entry in objects[1::2]] == [
        entry["metadata"]["name"] for entry in objects[::2]
    ]
    comments = " ".join(line.lstrip("# ") for line in text.stdout.splitlines() if line.startswith("#"))
    for entry in told["leftOut"]:
        assert entry["reason"] in comments
        assert entry["subject"] in comments
    for run in (text, report):
        assert 1 == run.stderr.count("\n")
        assert f" {len(told['leftOut'])} of the rules and fields" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["--as", "map", "builtin:default"], 1, id="nothing to inject"),
        pytest.param(["--as", "map", "builtin:soft-spread"], 1, id="defaults at pods"),
        pytest.param(["--as", "crd", "-"], 2, id="another kind"),
        pytest.param(["--as", "vap"], 2, id="no file"),
        pytest.param(["-"], 2, id="no kind"),
    ],
)
def test_exit_codes(arguments: list[str], code: int) -> None:
    """They say whether anything was emitted."""
    found = emit(*arguments)

    assert code == found.exit_code
    assert found.stderr
    assert ("not emitted (" in found.stderr) == (code == 1)


@pytest.mark.parametrize(
    ("arguments", "stdin", "error"),
    [
        pytest.param(["-", "--kubernetes-version", "1.29"], POLICY, UsageError, id="too old"),
        pytest.param(["-", "--kubernetes-version", "new"], POLICY, UsageError, id="no version"),
        pytest.param(["nope.yaml"], POLICY, SystemExit, id="no such file"),
        pytest.param(["-"], POLICY.replace("production", "Not a name"), SystemExit, id="no name"),
        pytest.param(["-"], "a: b: c", SystemExit, id="no YAML"),
    ],
)
def test_bad_input(arguments: list[str], stdin: str, error: type[BaseException]) -> None:
    """Wrong options are left to ``webhook.cli.main``; of a file every error is printed, with exit code 2."""
    found = emit("--as", "vap", *arguments, stdin=stdin)

    assert isinstance(found.exception, error)
    assert (found.exit_code == ExitCode.BAD_INPUT, bool(found.stderr)) == ((error is SystemExit,) * 2)
