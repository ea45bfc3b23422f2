"""The options of the commands that read manifests as a lint run does: which rules, and how files are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from policies.manifests.skipped import FailOnSkipped
from webhook.cli.command import SharedOption
from webhook.cli.completing import complete_rules
from webhook.cli.options import (
    kubernetes_version_option,
    policy_option,
    scheduler_config_option,
    with_options,
    workload_kind_option,
)

#: What is given as the LintConfig file to read none.
NO_CONFIG: Final = "none"

_RULES: Final = (
    click.option(
        "--select",
        multiple=True,
        metavar="RULES",
        shell_complete=complete_rules,
        help="Run only these rules (comma-separated).",
    ),
    click.option(
        "--ignore",
        multiple=True,
        metavar="RULES",
        shell_complete=complete_rules,
        help="Do not run these rules.",
    ),
    click.option(
        "--enable",
        multiple=True,
        metavar="RULES",
        shell_complete=complete_rules,
        help="Also run these opt-in rules.",
    ),
)  # fmt: skip

_FAIL_ON_SKIPPED: Final = click.option(
    "--fail-on-skipped", cls=SharedOption, type=click.Choice([str(level) for level in FailOnSkipped]),
    help="Exit 2 if a path that is named here or in evenkeel.yaml is skipped, or no workload is left to"
    " check (named), if anything is skipped (any), or never."
    "  [default: named]",
)  # fmt: skip

_MANIFESTS: Final = (
    _FAIL_ON_SKIPPED,
    policy_option("with severities, parameters, scope and domains", "policies"),
    kubernetes_version_option(None),
    workload_kind_option("workload_kinds"),
    scheduler_config_option(),
    click.option(
        "--config", "config_file", metavar="FILE",
        help=f"LintConfig file, or {NO_CONFIG}.  [default: the nearest evenkeel.yaml in or above the paths]",
    ),
    click.option(
        "--values", multiple=True, metavar="FILE", help="Values file for the charts in PATH; may be repeated."
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Value for the charts in PATH; may be repeated.",
    ),
    click.option(
        "--helm",
        type=click.Choice(["auto", "off"]),
        help="Render Helm charts; auto: if helm is installed.  [default: auto]",
    ),
    click.option(
        "--kustomize",
        type=click.Choice(["auto", "off"]),
        help="Build kustomizations; auto: if kustomize or kubectl is installed.  [default: auto]",
    ),
)  # fmt: skip


def rule_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose rules to a command."""
    return with_options(function, _RULES)


def manifest_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for how manifests are read and linted to a command."""
    return with_options(function, _MANIFESTS)
