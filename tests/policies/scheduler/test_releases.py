"""What each release of Kubernetes does, against the facts that the table is made from."""

from __future__ import annotations

from dataclasses import fields

import pytest

from policies.manifests.errors import UsageError
from policies.model.taints import Taint
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.scheduler.releases import (
    CHANGES,
    FIELDS,
    OLDEST_VERSION,
    Behavior,
    ReleaseChange,
    behavior_of,
    field_since,
    parse_release,
)

#: Every release from the oldest in the table to one after the newest.
RELEASES = [KubernetesVersion(1, minor) for minor in range(24, 40)]


@pytest.mark.parametrize(
    ("field", "minors"),
    [
        pytest.param("min_domains", range(27, 40), id="minDomains: from 1.27"),
        pytest.param("inclusion_policies", range(26, 40), id="inclusion policies: from 1.26"),
        pytest.param("match_label_keys", range(27, 40), id="matchLabelKeys: from 1.27"),
        pytest.param("merges_match_label_keys", range(34, 40), id="merge by the API server: from 1.34"),
        pytest.param(
            "empty_selector_counts", [24, 25, 26, 38, 39], id="empty selector: up to 1.26 and from 1.38"
        ),
        pytest.param("scheduling_gates", range(27, 40), id="gates: from 1.27"),
        pytest.param("zero_requests_fit", range(28, 40), id="zero requests: from 1.28"),
        pytest.param(
            "oversized_requests_are_unresolvable", range(34, 40), id="code of oversized requests: from 1.34"
        ),
        pytest.param("names_taint", range(24, 34), id="taints named: up to 1.33"),
        pytest.param("says_prefilter_reason_once", range(26, 40), id="one pre-filter reason: from 1.26"),
        pytest.param("counts_left_out_nodes", range(32, 40), id="nodes left out: from 1.32"),
        pytest.param("scores_init_images", range(30, 40), id="images of init containers: from 1.30"),
        pytest.param("skips_empty_balance", range(33, 40), id="no balance of nothing: from 1.33"),
        pytest.param("scores_balance_gain", range(36, 40), id="gain of balance: from 1.36"),
        pytest.param("scores_image_volumes", range(36, 40), id="image volumes: from 1.36"),
        pytest.param("counts_image_volumes", range(37, 40), id="image volumes counted: from 1.37"),
    ],
)
def test_which_releases_do_it(field: str, minors: range | list[int]) -> None:
    """A release does what the sources of the table say of it."""
    doing = [version.minor for version in RELEASES if getattr(behavior_of(version), field)]

    assert list(minors) == doing


def test_every_field_is_a_change() -> None:
    """A field that no release changes would be no difference, and a change of nothing would be lost."""
    assert {field.name for field in fields(Behavior)} == {change.field for change in CHANGES}


def test_every_line_changes_something() -> None:
    """A line that repeats what held before hides a mistake in another one; the lines stand in order."""
    value: dict[str, bool] = {
        field.name: getattr(behavior_of(OLDEST_VERSION), field.name) for field in fields(Behavior)
    }
    for change in CHANGES:
        assert change.value is not value[change.field], change.what
        value[change.field] = change.value

    assert sorted(CHANGES, key=lambda change: change.since) == list(CHANGES)
    assert all(change.since > OLDEST_VERSION for change in CHANGES)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.since} {change.field}")
def test_lines_can_be_read(change: ReleaseChange) -> None:
    """Each line is one sentence with a source that can be opened."""
    assert change.what.endswith(".")
    assert change.source.startswith("https://github.com/kubernetes/")


def test_the_known_version_is_what_the_vectors_hold() -> None:
    """In 1.36 nearly everything is on, the empty selector counts nothing, and taints are not named."""
    expected = {field.name: True for field in fields(Behavior)}
    expected |= {"empty_selector_counts": False, "names_taint": False, "counts_image_volumes": False}

    assert behavior_of(KNOWN_VERSION) == Behavior(**expected)


@pytest.mark.parametrize(
    ("minor", "expected"),
    [
        pytest.param(33, "node(s) had untolerated taint {dedicated: gpu}", id="1.33 names it"),
        pytest.param(34, "node(s) had untolerated taint(s)", id="1.34 does not"),
    ],
)
def test_reason_of_a_taint(minor: int, expected: str) -> None:
    """The reason is worded as the release words it."""
    behavior = behavior_of(KubernetesVersion(1, minor))

    assert expected == behavior.taint_reason(Taint("dedicated", "gpu", "NoSchedule"))


@pytest.mark.parametrize("text", ["1.39", "1.400", "2.0"])
def test_newer_releases_do_what_the_newest_does(text: str) -> None:
    """A release that is not known yet is taken for the newest that is."""
    assert behavior_of(CHANGES[-1].since) == behavior_of(KubernetesVersion.parse(text))


@pytest.mark.parametrize("text", ["1.23", "1.9", "0.30", "1.100", "2.0", "9.9"])
def test_releases_that_cannot_be_named(text: str) -> None:
    """A release before the table, or beyond all that could be meant, is refused, and the range told."""
    with pytest.raises(UsageError, match=r"1\.24 to 1\.99"):
        parse_release(text)


@pytest.mark.parametrize("text", ["1.24", "v1.36.2", "1.27+", "1.99"])
def test_releases_that_can_be_named(text: str) -> None:
    """From the oldest of the table to releases to come."""
    assert KubernetesVersion.parse(text) == parse_release(text)


def test_fields_count_from_a_release_on() -> None:
    """Each field that a release brought counts from there on and not before."""
    for name, flag in FIELDS.items():
        since = field_since(name)

        assert getattr(behavior_of(since), flag)
        assert not getattr(behavior_of(KubernetesVersion(since.major, since.minor - 1)), flag)
