"""The README and the examples say what is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from policies.config.exemptions import DOES_NOT_FIT, IGNORE_ANNOTATION, INJECT_ANNOTATION
from policies.config.loader import builtin_names, load_policies
from policies.model.api_rules import ApiRule
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.workload import KNOWN_KINDS, WorkloadKind
from webhook.scoring.request import ScoreRequest
from webhook.settings import Option, options

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()

#: Rules that only KubeSchedulerConfiguration and SpreadPolicy documents can break.
OF_DOCUMENTS = {
    ApiRule.TOPOLOGY_KEY_INVALID,
    ApiRule.DEFAULTING_TYPE_UNKNOWN,
    ApiRule.SYSTEM_DEFAULTS_WITH_LIST,
    ApiRule.SELECTOR_IN_DEFAULT,
}


@pytest.mark.parametrize("option", list(options()), ids=lambda option: option.flag)
def test_every_setting_is_in_the_readme(option: Option) -> None:
    """The table has each option with its environment variable, default and help, word for word."""
    assert f"| `{option.flag}` | `{option.env}` | {option.default_text} | {option.help} |" in README


@pytest.mark.parametrize("rule", [*sorted(set(ApiRule) - OF_DOCUMENTS), DOES_NOT_FIT])
def test_every_rule_is_in_the_readme(rule: str) -> None:
    """A rule that an object can be exempt from is named."""
    assert f"`{rule}`" in README


@pytest.mark.parametrize(
    "word", [INJECT_ANNOTATION, IGNORE_ANNOTATION, INJECTED_ANNOTATION, *builtin_names()]
)
def test_annotations_and_builtin_documents_are_in_the_readme(word: str) -> None:
    """What a person may write or meet is named."""
    assert word in README


def test_the_policy_of_the_readme_loads() -> None:
    """Every SpreadPolicy in the README is one."""
    blocks = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    (policy,) = load_policies(["README.md"], lambda _: "\n---\n".join(blocks).encode())

    assert "production" == policy.name


def test_the_score_request_of_the_readme_is_one() -> None:
    """The JSON in the README is a score request without errors."""
    (block,) = re.findall(r"```json\n(.*?)```", README, re.DOTALL)

    assert () == ScoreRequest.parse(block.encode()).errors


@pytest.mark.parametrize("kind", KNOWN_KINDS, ids=lambda kind: kind.name)
def test_the_example_registers_every_kind(kind: WorkloadKind) -> None:
    """The example sends every known kind to /validate, and to /mutate what may get defaults there."""
    mutating, validating = yaml.safe_load_all((ROOT / "deploy/examples/webhooks.yaml").read_text())
    injectable = kind.spreads and (kind.is_pod or kind.selector is not None)

    assert _registered(validating, kind)
    assert injectable == _registered(mutating, kind)


def _registered(configuration: dict[str, Any], kind: WorkloadKind) -> bool:
    (webhook,) = configuration["webhooks"]
    return any(
        kind.group in rule["apiGroups"] and f"{kind.kind.lower()}s" in rule["resources"]
        for rule in webhook["rules"]
    )


@pytest.mark.parametrize(
    "target", re.findall(r"^([a-z0-9]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
)
def test_make_targets_are_described(target: str) -> None:
    """Whoever works on the project finds each target in CONTRIBUTING."""
    assert f"make {target}" in (ROOT / "CONTRIBUTING.md").read_text()
