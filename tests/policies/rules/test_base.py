"""How rules are found, and what the API server's own rules say."""

from __future__ import annotations

from pathlib import Path

import pytest

from policies import rules
from policies.model.api_rules import ApiRule
from policies.rules.base import Subject, all_rules

#: Rules of the API server and kube-scheduler that no workload can break.
OF_DOCUMENTS = {
    ApiRule.TOPOLOGY_KEY_INVALID,
    ApiRule.DEFAULTING_TYPE_UNKNOWN,
    ApiRule.SYSTEM_DEFAULTS_WITH_LIST,
    ApiRule.SELECTOR_IN_DEFAULT,
}


def test_every_module_is_a_rule() -> None:
    """The folder is the register: each module but two is a rule, and its name the id, in order."""
    names = sorted(path.stem for path in Path(rules.__path__[0]).glob("[!_]*.py") if path.stem != "base")

    assert [name.replace("_", "-") for name in names] == list(all_rules())


@pytest.mark.parametrize("rule", sorted(set(ApiRule) - OF_DOCUMENTS))
def test_every_rule_of_the_api_has_a_manual(rule: ApiRule) -> None:
    """What the API server refuses in a workload is a rule like any other."""
    assert Subject.WORKLOAD is all_rules()[rule].subject
