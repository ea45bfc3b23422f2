"""The behavior of each release of Kubernetes, against the facts that the table is made from."""

from __future__ import annotations

from dataclasses import fields

import pytest

from policies.manifests.errors import UsageError
from policies.model.pod_reading import EVERY_AMOUNT, OLDER_AMOUNTS, AmountReading
from policies.model.taints import Taint
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.scheduler.release_changes import CHANGES, FIELDS, Behavior, ReleaseChange
from policies.scheduler.releases import OLDEST_VERSION, behavior_of, field_since, parse_release

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
        pytest.param("checks_selectors", range(27, 40), id="selectors checked: from 1.27"),
        pytest.param("affinity_label_keys", range(31, 40), id="keys of pod affinity: from 1.31"),
        pytest.param("keeps_namespace_selector", range(34, 40), id="namespaces by absence: from 1.34"),
        pytest.param("passes_over_conflicts", range(27, 40), id="one contradicting term: from 1.27"),
        pytest.param("passes_over_gone_nodes", range(27, 40), id="nodes that are gone: from 1.27"),
        pytest.param("sums_exactly", range(27, 40), id="rounding of the sum: from 1.27"),
        pytest.param("sidecars", range(29, 40), id="sidecars: from 1.29"),
        pytest.param("assumes_sidecars", range(32, 40), id="sidecars in scores: from 1.32"),
        pytest.param("sidecar_ports", range(33, 40), id="ports of sidecars: from 1.33.6"),
        pytest.param("resize_status", range(33, 40), id="resizes: from 1.33"),
        pytest.param("pod_resources", range(34, 40), id="resources of pods: from 1.34"),
        pytest.param("pod_resize_status", range(36, 40), id="resizes of pods: from 1.36"),
        pytest.param("image_volumes", range(35, 40), id="image volumes: from 1.35"),
        pytest.param("scores_cpu_overhead", range(27, 40), id="overhead in scores: from 1.27"),
        pytest.param("scores_spread_without_soft", range(24, 28), id="spread without soft: up to 1.27"),
        pytest.param("zero_extended_requests_fit", range(26, 40), id="zero extended requests: from 1.26"),
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


@pytest.mark.parametrize(
    ("field", "without", "since"),
    [
        pytest.param("names_taint", "1.34.1", "1.34.2", id="taints: up to 1.34.1"),
        pytest.param("sidecar_ports", "1.33.5", "1.33.6", id="ports of sidecars: from 1.33.6"),
        pytest.param(
            "keeps_namespace_selector", "1.33.99", "1.34.0", id="no patch: from the first of a minor"
        ),
    ],
)
def test_patches_differ(field: str, without: str, since: str) -> None:
    """Where a patch changed something, it counts from that patch on, and for a minor release without one."""
    before, after, newest = (
        getattr(behavior_of(KubernetesVersion.parse(text)), field)
        for text in (without, since, since.rpartition(".")[0])
    )

    assert before is not after
    assert newest is after


@pytest.mark.parametrize(("before", "first"), [("1.32", "1.33.6"), ("1.33.2", "1.33.6"), ("1.34.0", None)])
def test_a_change_is_told_with_its_first_release(before: str, first: str | None) -> None:
    """An upgrade from a release brings a change with the first release after it that has it."""
    (change,) = (change for change in CHANGES if change.field == "sidecar_ports")
    version = KubernetesVersion.parse(before)

    assert first == (None if change.is_in(version) else change.after(version).exact)


def test_every_reading_of_amounts_is_kept() -> None:
    """The resources of running pods are kept for each release, and for each change between releases."""
    kept = {EVERY_AMOUNT, *OLDER_AMOUNTS}
    fields_of_change = [change.field for change in CHANGES if change.field in AmountReading._fields]

    assert list(AmountReading._fields) == fields_of_change
    assert {behavior_of(version).reading.amounts for version in RELEASES} <= kept


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
    expected |= dict.fromkeys(
        ("empty_selector_counts", "names_taint", "counts_image_volumes", "scores_spread_without_soft"), False
    )

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
