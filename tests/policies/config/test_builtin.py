"""The built-in policies do what they say, by samples: see ``evenkeel policy test --help``."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from policies.admission.decision import AdmissionVerdict
from policies.admission.policy_tests import run_sample
from policies.config.loader import builtin_names, load_policies
from policies.config.spread_policy import BUILTIN_PREFIX, Enforcement
from webhook.lint.policy_suites import Sample, read_suite

SUITES = Path(__file__).parent / "builtin"
SAMPLES = {name: read_suite(SUITES / name) for name in builtin_names()}


@pytest.mark.parametrize(
    "sample",
    [pytest.param(entry, id=Path(entry.file).name) for samples in SAMPLES.values() for entry in samples],
)
def test_samples(sample: Sample) -> None:
    """Every sample gets the verdict that its name says, for the rules that it names."""
    for manifest, kind in sample.workloads:
        result = run_sample(manifest.value, kind, sample.context, today=date(2026, 1, 1))

        assert "" == result.misses(sample.expected)


def test_every_suite_is_of_a_policy() -> None:
    """No policy without samples, no samples without a policy, and each suite tests its own."""
    assert builtin_names() == sorted(path.name for path in SUITES.iterdir())
    for name, samples in SAMPLES.items():
        assert {(name,)} == {tuple(policy.name for policy in entry.context.policies) for entry in samples}


@pytest.mark.parametrize("name", builtin_names())
def test_every_policy_has_samples_of_what_it_does(name: str) -> None:
    """Each allows something; what denies refuses something, and what injects does."""
    (policy,) = load_policies([f"{BUILTIN_PREFIX}{name}"], lambda _: b"")
    wanted = {AdmissionVerdict.ALLOWED}
    if policy.enforcement is Enforcement.DENY:
        wanted.add(AdmissionVerdict.DENIED)
    if policy.defaults:
        wanted.add(AdmissionVerdict.INJECTED)

    assert wanted <= {sample.expected for sample in SAMPLES[name]}
