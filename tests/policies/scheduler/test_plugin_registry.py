"""The plugins that are modeled."""

from __future__ import annotations

from policies.scheduler.plugin_registry import FILTERS, SCORES
from policies.scheduler.profile import DEFAULT_PROFILE, Plugin


def test_every_plugin_is_there() -> None:
    """Each plugin that a profile can name filters or scores, and the default profile runs all of them."""
    assert [*FILTERS] == [*DEFAULT_PROFILE.filters]
    assert [*SCORES] == [plugin for plugin, _ in DEFAULT_PROFILE.scores]
    assert {*Plugin} == {*FILTERS, *SCORES}
