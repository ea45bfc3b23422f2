"""Settings: every option is documented, and what does not go together is refused."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import click
import pytest

from policies.config.spread_policy import DefaultsMode
from policies.manifests.errors import UsageError
from webhook.cli.serve import command
from webhook.settings import ENV_PREFIX, Access, LogFormat, LogLevel, Option, Settings, options


@pytest.mark.parametrize("option", list(options()), ids=lambda option: option.name)
def test_every_option_has_env_help_and_default(option: Option) -> None:
    """Every option can be set three ways and says in one sentence what it is."""
    assert f"{ENV_PREFIX}{option.name.upper()}" == option.env
    assert option.help.endswith(".")
    assert option.default_text


@pytest.mark.parametrize("option", list(options()), ids=lambda option: option.name)
def test_every_option_is_on_the_command_line(option: Option) -> None:
    """The command offers exactly the options of the settings, with their environment variables."""
    [parameter] = [found for found in command.params if found.name == option.name]

    assert [option.flag] == parameter.opts
    assert option.env == parameter.envvar


@pytest.mark.parametrize(
    ("name", "typed", "expected"),
    [
        pytest.param("access", "Open", Access.OPEN, id="access"),
        pytest.param("log_format", "json", LogFormat.JSON, id="log format"),
        pytest.param("log_level", "WARNING", LogLevel.WARNING, id="log level"),
    ],
)
def test_a_choice_is_shown_as_it_is_typed(name: str, typed: str, expected: StrEnum) -> None:
    """Help shows values and never Python's names of them; in either case a setting is the member."""
    [parameter] = [found for found in command.params if found.name == name]
    context = click.Context(command)
    shown = parameter.get_help_record(context)
    default = next(option.default for option in options() if option.name == name)

    assert shown is not None
    assert f"default: {default.value}]" in shown[1]
    assert expected is parameter.process_value(context, typed)


def test_the_command_has_no_other_option() -> None:
    """No option exists outside the settings."""
    assert [option.name for option in options()] == [parameter.name for parameter in command.params]


@pytest.mark.parametrize(
    ("values", "part"),
    [
        pytest.param({}, "got none", id="0 certificates"),
        pytest.param({"self_signed": True, "cert_dir": "/c"}, "got more than one", id="2 certificates"),
        pytest.param(
            {"cert_dir": "/c", "cert_secret": "tls"}, "got more than one", id="a folder and a Secret"
        ),
        pytest.param(
            {"self_signed": True, "live": True, "cluster": "c.json"},
            "--live and --cluster",
            id="2 clusters",
        ),
        pytest.param({"self_signed": True, "context": "prod"}, "--context", id="a context of nothing"),
        pytest.param({"self_signed": True, "access": Access.KUBERNETES}, "--access", id="nobody to ask"),
        pytest.param({"self_signed": True, "max_snapshot_age_s": 0.0}, "--max-snapshot-age-s", id="0 s old"),
        pytest.param({"cert": "a.crt"}, "--cert and --key", id="1 of cert and key"),
        pytest.param({"self_signed": True, "workers": 0}, "--workers: Invalid value: 0", id="0 workers"),
        pytest.param(
            {"self_signed": True, "drain_s": -1.0},
            "--drain-s: Invalid value: -1",
            id="-1 s of draining",
        ),
        pytest.param({"self_signed": True, "keepalive_s": float("nan")}, "--keepalive-s", id="no number"),
        pytest.param({"self_signed": True, "drain_s": float("inf")}, "--drain-s", id="for ever"),
        pytest.param(
            {"self_signed": True, "skew_metrics": 9}, "--skew-metrics requires --live", id="skew of nothing"
        ),
        pytest.param({"self_signed": True, "skew_events": True}, "--skew-events", id="Events on nothing"),
        pytest.param(
            {"self_signed": True, "defaults": DefaultsMode.SOFT}, "--defaults soft requires", id="soft, alone"
        ),
        pytest.param(
            {"self_signed": True, "live": True, "skew_metrics": -1},
            "--skew-metrics: Invalid value: -1",
            id="-1 constraints",
        ),
    ],
)
def test_refused_settings(values: dict[str, Any], part: str) -> None:
    """Settings that contradict each other are errors with the options' names."""
    with pytest.raises(UsageError) as caught:
        Settings(**values)

    assert part in str(caught.value)


def test_keepalive_outlasts_the_api_server() -> None:
    """The API server closes idle connections after 90 s; a server that closes first loses requests."""
    assert Settings(self_signed=True).keepalive_s > 90
