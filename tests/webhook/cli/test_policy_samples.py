"""``evenkeel policy test`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from docs.generator.published import report_schemas
from tests.builders import a_constraint, a_policy, a_workload
from tests.webhook.lint.test_policy_suites import a_suite
from webhook.cli.policy import command

BAD = a_workload(spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]})
MAX_SKEW = "spec.template.spec.topologySpreadConstraints[0].maxSkew"
DENIED = "denied (max-skew-not-positive)"


@pytest.mark.parametrize(
    ("files", "options", "code", "lines"),
    [
        pytest.param(
            {"denied__a__yaml": BAD, "allowed__b__yaml": a_workload()},
            [],
            0,
            [
                "ok    {}/allowed.b.yaml: allowed",
                f"ok    {{}}/denied.a.yaml: {DENIED}",
                "2 samples: 2 as expected, 0 not",
            ],
            id="0: as expected",
        ),
        pytest.param(
            {"allowed__a__yaml": [BAD, a_workload()], "denied__b__yaml": BAD},
            ["--quiet"],
            1,
            [
                "FAIL  {}/allowed.a.yaml: expected allowed, got denied (max-skew-not-positive)",
                f"      max-skew-not-positive: {MAX_SKEW}: Invalid value: 0: must be greater than zero",
                "2 samples: 1 as expected, 1 not",
            ],
            id="1: one of two is not",
        ),
        pytest.param({}, [], 2, ["0 samples: 0 as expected, 0 not"], id="2: no sample"),
    ],
)
def test_test(
    tmp_path: Path, files: dict[str, object], options: list[str], code: int, lines: list[str]
) -> None:
    """Samples are listed with what became of them, and the exit code says whether that was expected."""
    folder = a_suite(tmp_path / "suite", policy__yaml=a_policy(), **files)
    result = CliRunner().invoke(command, ["test", *options, str(tmp_path)])

    assert code == result.exit_code
    assert [line.format(folder) for line in lines] == result.stdout.splitlines()
    assert (code == 2) == bool(result.stderr)


def test_other_suites_are_judged_all_the_same(tmp_path: Path) -> None:
    """A suite that cannot be read does not keep others from being judged."""
    a_suite(tmp_path / "a", policy__yaml="?")
    a_suite(tmp_path / "b", policy__yaml=a_policy(), denied__a__yaml=BAD)
    result = CliRunner().invoke(command, ["test", str(tmp_path), str(tmp_path / "gone")])

    assert 2 == result.exit_code
    assert "1 sample: 1 as expected, 0 not" in result.stdout
    assert 2 == len({line.partition(": ")[2].partition(":")[0] for line in result.stderr.splitlines()})


def test_formats(tmp_path: Path) -> None:
    """JSON by its schema, YAML and JUnit have what fails, and the suite that was not read."""
    a_suite(tmp_path / "a", policy__yaml="?")
    a_suite(
        tmp_path / "b", policy__yaml=a_policy(), allowed__a__yaml=[BAD, a_workload()], denied__b__yaml=BAD
    )
    done = {
        form: CliRunner().invoke(command, ["test", str(tmp_path), "-o", form])
        for form in ("json", "yaml", "junit")
    }
    report = json.loads(done["json"].stdout)
    cases = ET.fromstring(done["junit"].stdout)

    assert {2} == {each.exit_code for each in done.values()}
    jsonschema.validate(report, report_schemas()["policies/lint/policy_test.schema.json"])
    assert yaml.safe_load(done["yaml"].stdout) == report
    assert (2, 1, 1) == (report["samples"], report["failed"], len(report["notRead"]))
    assert [False, True, True] == [each["asExpected"] for each in report["objects"]]
    assert {"tests": "4", "failures": "1", "errors": "1", "skipped": "0"}.items() <= cases.attrib.items()
    assert "expected allowed, got denied" in cases.findall(".//failure")[0].attrib["message"]
