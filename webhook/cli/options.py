"""The options that several commands have, each declared once; a command says what it means to it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import click
from click.shell_completion import CompletionItem

from policies.manifests.errors import UsageError
from policies.manifests.fields import shown_name
from policies.model.version import KNOWN_VERSION
from webhook.cli.command import SharedOption
from webhook.cli.completing import complete_format, complete_policies

#: Adds an option to a command.
Option: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
#: Returns what a shell may complete the value of an option to.
_Completing: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

#: The formats of all answers for programs.
DATA_FORMATS: Final = ("json", "yaml")
#: A longer text, which comes before them.
WIDE: Final = "wide"
#: The formats that people read, the longer one last.
TEXTS: Final = ("text", WIDE)
#: What is said of every format.
_FORMAT: Final = "Format of the answer, which =FILE writes to a file"
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
    context = click.option("--context", parameter, cls=SharedOption, default="", metavar="NAME", help=text)
    return lambda function: context(_kubeconfig(function))


def _use_kubeconfig(_context: click.Context, _parameter: click.Parameter, file: str) -> None:
    if file:
        # A pipe is one, too: --kubeconfig <(command).
        if not Path(file).exists():
            raise UsageError(f"--kubeconfig: {shown_name(file)}: No such file")
        # As for kubectl; what runs as a credential plugin reads it, too.
        os.environ["KUBECONFIG"] = file


_kubeconfig: Final = click.option(
    "--kubeconfig", cls=SharedOption, expose_value=False, default="", metavar="FILE",
    callback=_use_kubeconfig, help="Kubeconfig of the live cluster.  [default: $KUBECONFIG, ~/.kube/config]",
)  # fmt: skip


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


def namespace_filter(text: str) -> Option:
    """Return the option for the one namespace that a command looks at."""
    # Read before --all-namespaces, which may not be combined with it.
    return click.option("-n", "--namespace", default="", metavar="NAME", is_eager=True, help=text)


def namespace_option(text: str) -> Option:
    """Return the option for the namespace of objects that name none."""
    return namespace_filter(f"{text}  {_DEFAULT_NAMESPACE}")


def _check_all_namespaces(context: click.Context, _parameter: click.Parameter, given: bool) -> None:  # noqa: FBT001  # click calls it
    if given and context.params.get("namespace"):
        raise UsageError("--all-namespaces may not be combined with --namespace")


#: The flag of commands that look at all workloads, as of kubectl: they do without it, too.
all_namespaces_option: Final = click.option(
    "-A", "--all-namespaces", cls=SharedOption, is_flag=True, expose_value=False,
    callback=_check_all_namespaces, help="Look at all namespaces, which is the default.",
)  # fmt: skip


def _refuse_all_namespaces(context: click.Context, _parameter: click.Parameter, given: bool) -> None:  # noqa: FBT001  # click calls it
    if given and not context.params.get("pending"):
        raise UsageError("-A: an object has one namespace: give -n NAMESPACE, or only -f FILE")


#: The same where one object is meant: typed by those who know it of kubectl, which refuses it, too.
no_all_namespaces_option: Final = click.option(
    "-A", "--all-namespaces", is_flag=True, hidden=True, expose_value=False, callback=_refuse_all_namespaces
)


def kubernetes_version_option(default: str | None = "") -> Option:
    """Return the option for the release of the cluster."""
    return click.option(
        "--kubernetes-version", cls=SharedOption, default=default, metavar="VERSION",
        help=f"Kubernetes version of the cluster.  [default: the live cluster's, else {KNOWN_VERSION}]",
    )  # fmt: skip


def scheduler_config_option(*, default: str | None = None) -> Option:
    """Return the option for the configuration of the cluster's scheduler."""
    return click.option(
        "--scheduler-config", cls=SharedOption, default=default, metavar="FILE",
        help="KubeSchedulerConfiguration of the cluster.",
    )  # fmt: skip


def policy_option(what: str, parameter: str = "policy", cls: type[click.Option] = click.Option) -> Option:
    """Return the option for SpreadPolicy documents, of which a command takes something."""
    text = f"SpreadPolicy file or builtin:NAME {what}; may be repeated."
    return click.option(
        "--policy",
        parameter,
        cls=cls,
        multiple=True,
        metavar="FILE",
        shell_complete=complete_policies,
        help=text,
    )


def workload_kind_option(parameter: str = "workload_kind") -> Option:
    """Return the option for custom resources that make pods."""
    text = "Custom resource with a pod template: GROUP/KIND=TEMPLATE[,SELECTOR[,REPLICAS]]; may be repeated."
    return click.option(
        "--workload-kind", parameter, cls=SharedOption, multiple=True, metavar="KIND", help=text
    )


def format_option(*forms: str, text: str = "") -> Option:
    """Return the option for the format of an answer, whose parameter is ``form``.

    Args:
        forms: The formats, the default first.
        text: What is said of some of them.
    """
    return click.option(
        "-o", "--format", "form", type=_Format(forms), default=forms[0], show_default=True,
        help=f"{_FORMAT}; may be given once. {text}".rstrip(),
    )  # fmt: skip


class _Format(click.Choice[str]):
    """A format, and the file that the answer is written to: it replaces standard output for the command."""

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """Return the formats, with what may follow them."""
        return f"{super().get_metavar(param, ctx)}[=FILE]"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,  # noqa: ARG002  # click gives it
        ctx: click.Context | None,
    ) -> str:
        """Return the format, and have the file written when the command ends."""
        from webhook.lint import reports

        given, equals, file = str(value).partition("=")
        form = reports.known_format(given, self.choices)
        if equals and not file:
            raise reports.no_file(form)
        if file and ctx is not None and not ctx.resilient_parsing:
            ctx.with_resource(_written_to(file))
        return form

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  # click gives it
        param: click.Parameter,  # noqa: ARG002  # click gives it
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return the formats that start so; the file behind one is the user's."""
        return complete_format(tuple(self.choices), incomplete)


@contextmanager
def _written_to(file: str) -> Iterator[None]:
    """Write what goes to standard output to a file, as a whole, unless there is nothing or the work fails.

    Raises:
        OSError: It cannot be written.
    """
    from webhook import atomic_write

    atomic_write.check_folder(file)
    answer, stdout = io.BytesIO(), sys.stdout
    sys.stdout = io.TextIOWrapper(answer, encoding="utf-8", errors="backslashreplace", write_through=True)
    try:
        yield
    finally:
        written, sys.stdout = sys.stdout, stdout
        written.flush()
    if content := answer.getvalue():
        with atomic_write.atomic_write(file) as stream:
            stream.write(content)


def answer_option(*others: str, text: str = "") -> Option:
    """Return the same for a text and the formats for programs, and further ones."""
    texts = TEXTS if WIDE in others else TEXTS[:1]
    return format_option(*texts, *DATA_FORMATS, *(form for form in others if form != WIDE), text=text)


def reports_option(forms: Iterable[str], complete: _Completing, text: str = "") -> Option:
    """Return the option for several reports, each with its file, whose parameter is ``formats``."""
    return click.option(
        "-o", "--format", "formats", multiple=True, metavar=f"[{'|'.join(forms)}][=FILE]",
        shell_complete=complete,
        help=f"{_FORMAT}; may be repeated. {text}".rstrip() + "  [default: text]",
    )  # fmt: skip


def json_file_option(text: str) -> Option:
    """Return the option for the file of an answer that has one format, whose parameter is ``output``."""
    return click.option("-o", "output", default="", metavar="FILE", callback=_json_file, help=text)


def _json_file(_context: click.Context, _parameter: click.Parameter, given: str) -> str:
    """Return the file; the format that other commands name before it is always JSON.

    Raises:
        UsageError: It is another format, for which a file of its name would be a surprise.
    """
    form, equals, file = given.partition("=")
    if form in DATA_FORMATS and (equals or not Path(given).suffix):
        if form != "json":
            raise UsageError(f"-o: Unsupported value: {form}: only JSON is written; give a FILE")
        return file
    return given
