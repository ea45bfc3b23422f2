"""The options of the commands that read manifests as a lint run does: which rules, and how files are read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import click

from policies.manifests.skipped import FailOnSkipped
from webhook.cli.command import LintOption, SharedOption
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

#: Declares an option that ``evenkeel lint`` describes.
_option: Final = partial(click.option, cls=LintOption)

_RULES: Final = (
    _option(
        "--select",
        multiple=True,
        metavar="RULES",
        shell_complete=complete_rules,
        help="Run only these rules (comma-separated).",
    ),
    _option(
        "--ignore",
        multiple=True,
        metavar="RULES",
        shell_complete=complete_rules,
        help="Do not run these rules.",
    ),
    _option(
        "--enable",
        multiple=True,
        metavar="RULES",
        shell_complete=complete_rules,
        help="Also run these opt-in rules.",
    ),
)  # fmt: skip

FAIL_ON_SKIPPED_OPTION: Final = click.option(
    "--fail-on-skipped", cls=SharedOption, type=click.Choice([str(level) for level in FailOnSkipped]),
    help="Exit 2 if a path that is named here or in evenkeel.yaml is skipped, or no workload is left to"
    " check (named), if anything is skipped (any), or never."
    "  [default: named]",
)  # fmt: skip

_MANIFESTS: Final = (
    FAIL_ON_SKIPPED_OPTION,
    policy_option("with severities, parameters, scope and domains", "policies", LintOption),
    kubernetes_version_option(None),
    workload_kind_option("workload_kinds"),
    scheduler_config_option(),
    _option(
        "--config", "config_file", metavar="FILE",
        help=f"LintConfig file, or {NO_CONFIG}.  [default: the nearest evenkeel.yaml in or above the paths]",
    ),
    _option(
        "--values", multiple=True, metavar="FILE", help="Values file for the charts in PATH; may be repeated."
    ),
    _option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Value for the charts in PATH; may be repeated.",
    ),
    _option(
        "--helm",
        type=click.Choice(["auto", "off"]),
        help="Render Helm charts; auto: if helm is installed.  [default: auto]",
    ),
    _option(
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
