"""The options that several commands have, each declared once; a command says what it means to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import click
from click.shell_completion import CompletionItem

from webhook.cli.completing import complete_policies

#: Adds an option to a command.
Option: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
#: Returns what a shell may complete the value of an option to.
_Completing: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

#: The formats of all answers for programs.
DATA_FORMATS: Final = ("json", "yaml")
#: The format of a page of its own, and what is said of it.
HTML: Final = "html"
HTML_NOTE: Final = "html: one file for a browser, with everything in it."
#: What ``--live`` means to commands that read the cluster themselves.
READ_LIVE: Final = "Read the live cluster, with your own permissions."
#: Namespaces of objects that name none.
_DEFAULT_NAMESPACE: Final = "[default: default, or with --live the context's]"


def with_options(function: Callable[..., Any], options: Iterable[Option]) -> Callable[..., Any]:
    """Add options to a command, which shows them in their order."""
    for option in reversed(tuple(options)):
        function = option(function)
    return function


def context_option(parameter: str = "context") -> Option:
    """Return the option that says which cluster, for a parameter of a command."""
    text = "Context of the kubeconfig.  [default: the current context]"
    return click.option("--context", parameter, default="", metavar="NAME", help=text)


def live_option(text: str = READ_LIVE) -> Option:
    """Return the option for the live cluster."""
    return click.option("--live", is_flag=True, help=text)


def cluster_option(text: str, *, default: str | None = "") -> Option:
    """Return the option for a file with the objects of a cluster."""
    return click.option("--cluster", default=default, metavar="FILE", help=text)


def snapshot_option(*further: str) -> Option:
    """Return the same for a snapshot, which may have further resources than the usual ones."""
    resources = ",".join(("nodes", "pods", "services", "rc", "rs", "sts", "ns", *further))
    made = f"made by `evenkeel snapshot`, or by `kubectl get {resources} -A -o json`"
    return cluster_option(f"Snapshot file, gzip or not: {made}.")


def namespace_option(text: str) -> Option:
    """Return the option for the namespace of objects that name none."""
    return click.option("-n", "--namespace", default="", help=f"{text}  {_DEFAULT_NAMESPACE}")


def kubernetes_version_option(text: str, *, default: str | None = "", show_default: bool = False) -> Option:
    """Return the option for the release of the cluster."""
    return click.option(
        "--kubernetes-version", default=default, show_default=show_default, metavar="VERSION", help=text
    )


def scheduler_config_option(aim: str = "", *, default: str | None = None) -> Option:
    """Return the option for the configuration of the cluster's scheduler."""
    text = f"KubeSchedulerConfiguration of the cluster{aim}."
    return click.option("--scheduler-config", default=default, metavar="FILE", help=text)


def policy_option(what: str, parameter: str = "policy") -> Option:
    """Return the option for SpreadPolicy documents, of which a command takes something."""
    text = f"SpreadPolicy file or builtin:NAME {what}; may be repeated."
    return click.option(
        "--policy", parameter, multiple=True, metavar="FILE", shell_complete=complete_policies, help=text
    )


def workload_kind_option(parameter: str = "workload_kind") -> Option:
    """Return the option for custom resources that make pods."""
    text = "Custom resource with a pod template: GROUP/KIND=TEMPLATE[,SELECTOR[,REPLICAS]]; may be repeated."
    return click.option("--workload-kind", parameter, multiple=True, metavar="KIND", help=text)


def format_option(*forms: str, text: str = "Format of the answer.") -> Option:
    """Return the option for the format of an answer, whose parameter is ``form``.

    Args:
        forms: The formats, the default first.
        text: What is said of them.
    """
    return click.option(
        "-o", "--format", "form", type=click.Choice(forms), default=forms[0], show_default=True, help=text
    )


def answer_option(*others: str, text: str = "Format of the answer.") -> Option:
    """Return the same for a text and the formats for programs, and further ones."""
    return format_option("text", *DATA_FORMATS, *others, text=text)


def reports_option(forms: Iterable[str], complete: _Completing) -> Option:
    """Return the option for several reports, each with its file, whose parameter is ``formats``."""
    return click.option(
        "-o", "--format", "formats", multiple=True, metavar="FORMAT[=FILE]", shell_complete=complete,
        help=f"Report format ({', '.join(forms)}), optionally with a file to write it to; may be repeated."
        "  [default: text]",
    )  # fmt: skip
