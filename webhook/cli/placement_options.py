"""The options of the commands that place pods, and what both ways to a cluster share: a file, or live."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import click

from policies.manifests.documents import ManifestObject
from policies.manifests.errors import UsageError
from policies.manifests.sanitize import one_line
from policies.model.snapshot import kind_of
from policies.model.version import KNOWN_VERSION
from policies.model.workload_kinds import WorkloadKinds, parse_workload_kind
from webhook.cli.completing import complete_policies
from webhook.cli.live import check_cluster, context_option
from webhook.cli.manifest import STDIN, choose, choose_all
from webhook.cli.targets import ObjectTarget, parse_target
from webhook.kube.service_proxy import DEFAULT_NAMESPACE as DEFAULT_EVENKEEL_NAMESPACE
from webhook.kube.service_proxy import DEFAULT_SERVICE as DEFAULT_EVENKEEL_SERVICE

_Command = TypeVar("_Command", bound=Callable[..., Any])

#: What bars and lines are made of where a terminal cannot show them.
STAND_INS: Final = str.maketrans("█─", "#-")


#: Objects in the same file that would be in the cluster, too.
APPLIED_ALONG: Final = frozenset({("v1", "Service"), ("v1", "Namespace")})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementOptions:
    """The common options; what was not given is empty.

    Attributes:
        words: The given object of the cluster, ``KIND/NAME`` or both by themselves.
        files: The manifests, ``-`` for standard input.
        name: Which object of them, ``KIND/NAME``.
        namespace: The namespace of objects that name none.
        cluster: The snapshot file.
        live: Whether the live cluster is meant.
        context: Its context of the kubeconfig.
        evenkeel_namespace: Where it has Evenkeel.
        evenkeel_service: The Service of Evenkeel there.
        kubernetes_version: The release to behave as; empty for the live cluster's, or the newest known.
        scheduler_config: The KubeSchedulerConfiguration file.
        policy: SpreadPolicy files, whose defaults are injected first.
        workload_kind: Descriptions of further kinds with a pod template.
    """

    words: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    name: str = ""
    namespace: str = ""
    cluster: str = ""
    live: bool = False
    context: str = ""
    evenkeel_namespace: str = DEFAULT_EVENKEEL_NAMESPACE
    evenkeel_service: str = DEFAULT_EVENKEEL_SERVICE
    kubernetes_version: str = ""
    scheduler_config: str = ""
    policy: tuple[str, ...] = ()
    workload_kind: tuple[str, ...] = ()

    def check_cluster(self) -> None:
        """Make sure that no more than one cluster is given.

        Raises:
            UsageError: It is not so.
        """
        check_cluster(live=self.live, context=self.context, cluster=self.cluster)

    def with_default_cluster(self) -> PlacementOptions:
        """Return the same with the live cluster, as for kubectl, if an object of no cluster is named."""
        return replace(self, live=True) if self.words and not self.cluster else self

    def check(self, *, needs_cluster: bool = True) -> None:
        """Make sure that one object is given, and one cluster if it is needed.

        Raises:
            UsageError: It is not so.
        """
        self.check_cluster()
        if bool(self.files) == bool(self.words):
            text = "give either a manifest, --file FILE, or an object of the cluster, such as deploy/web"
            raise UsageError(f"{text}; --name chooses one in a manifest" if self.files else text)
        if needs_cluster and not self.cluster and not self.live:
            text = "evenkeel snapshot --output cluster.json"
            raise UsageError(f"either --live or --cluster FILE is required; create a file with: {text}")
        if self.cluster == STDIN and STDIN in self.files:
            raise UsageError("only one of --file and --cluster may be standard input")

    def check_lines(self) -> None:
        """Make sure that standard input has only requests, which name their objects themselves.

        Raises:
            UsageError: It is not so.
        """
        if self.files or self.words:
            raise UsageError("--jsonl may not be combined with --file or KIND/NAME")
        if self.cluster == STDIN:
            raise UsageError("--cluster must be a file: standard input has the requests")
        self.check_cluster()

    def kinds(self) -> WorkloadKinds:
        """Return the kinds that make pods.

        Raises:
            UsageError: One of them is described wrongly.
        """
        return WorkloadKinds(map(parse_workload_kind, self.workload_kind))

    def target(self, kinds: WorkloadKinds) -> ObjectTarget | None:
        """Return the given object of the cluster; None for one in a file.

        Raises:
            UsageError: It is named wrongly.
        """
        return parse_target(self.words, kinds)


#: Which object.
_OBJECT_OPTIONS: Final = (
    click.argument("words", metavar="[KIND/NAME]", nargs=-1),
    click.option(
        "-f", "--file", "files", multiple=True, metavar="FILE",
        help="Manifest with the pod or workload, - for stdin; may be repeated."
    ),
    click.option(
        "--name", default="", metavar="KIND/NAME", help="Object to use if the files have several."
    ),
    click.option(
        "-n", "--namespace", default="",
        help="Namespace of KIND/NAME and of objects without one.  [default: default, or with --live the "
        "context's]",
    ),
)  # fmt: skip
#: Where the cluster's own Evenkeel is.
_SERVICE_OPTIONS: Final = (
    click.option(
        "--evenkeel-namespace", default=DEFAULT_EVENKEEL_NAMESPACE, show_default=True, metavar="NAME",
        help="Namespace of Evenkeel.",
    ),
    click.option(
        "--evenkeel-service", default=DEFAULT_EVENKEEL_SERVICE, show_default=True, metavar="NAME",
        help="Name of Evenkeel's Service.",
    ),
)  # fmt: skip
_LIVE_OPTIONS: Final = (
    click.option(
        "--live", is_flag=True,
        help="Use the live cluster: through Evenkeel's Service, or by reading the cluster if there is none. "
        "Default for KIND/NAME without --cluster.",
    ),
)  # fmt: skip
#: Which cluster, and what pods in it are evaluated by.
_CLUSTER_OPTIONS: Final = (
    click.option(
        "--cluster", default="", metavar="FILE",
        help="Snapshot file, gzip or not: made by `evenkeel snapshot`, or by "
        "`kubectl get nodes,pods,services,rc,rs,sts,ns -A -o json`.",
    ),
    context_option(),
    click.option(
        "--kubernetes-version", default="", metavar="VERSION",
        help=f"Kubernetes version of the scheduler.  [default: the live cluster's, else {KNOWN_VERSION}]",
    ),
    click.option(
        "--scheduler-config", default="", metavar="FILE",
        help="KubeSchedulerConfiguration of the cluster, for its default constraints.",
    ),
    click.option(
        "--policy", multiple=True, metavar="FILE", shell_complete=complete_policies,
        help="SpreadPolicy file or builtin:NAME whose default constraints are injected first; may be "
        "repeated.",
    ),
    click.option(
        "--workload-kind", multiple=True, metavar="KIND",
        help="Custom resource with a pod template: GROUP/KIND=TEMPLATE[,SELECTOR[,REPLICAS]]; may be "
        "repeated.",
    ),
)  # fmt: skip


def placement_options(function: _Command) -> _Command:
    """Add the common options of commands that place an object, which make ``PlacementOptions`` of them."""
    options = (*_OBJECT_OPTIONS, *_SERVICE_OPTIONS, *_LIVE_OPTIONS, *_CLUSTER_OPTIONS)
    return _with_options(function, options)


def object_options(function: _Command) -> _Command:
    """Add those of them that say which object, for commands that read the cluster themselves."""
    return _with_options(function, _OBJECT_OPTIONS)


def cluster_options(function: _Command) -> _Command:
    """Add those of them that say which cluster, for commands that read it themselves."""
    live = click.option("--live", is_flag=True, help="Read the live cluster, with your own permissions.")
    return _with_options(function, (*_CLUSTER_OPTIONS, live))


def page_options(function: _Command) -> _Command:
    """Add those that say which cluster, and where its Evenkeel is if it may not be read."""
    live = click.option(
        "--live", is_flag=True,
        help="Read the live cluster, with your own permissions, or what you may see of it through Evenkeel.",
    )  # fmt: skip
    namespace = click.option(
        "-n", "--namespace", default="",
        help="Namespace of manifests without one, and the one to show if you may not list the whole live"
        " cluster.  [default: default, or with --live the context's]",
    )  # fmt: skip
    return _with_options(function, (*_CLUSTER_OPTIONS, live, namespace, *_SERVICE_OPTIONS))


def _with_options(function: _Command, options: Iterable[Callable[[_Command], _Command]]) -> _Command:
    for option in reversed(tuple(options)):
        function = option(function)
    return function


def note(text: str) -> None:
    """Print a line to stderr."""
    click.echo(f"evenkeel: {one_line(text)}", err=True)


def choose_by(options: PlacementOptions, found: list[ManifestObject], kinds: WorkloadKinds) -> ManifestObject:
    """Return the object of the files that the options name: see ``choose``; report duplicate keys."""
    entry = choose(found, kinds, files=options.files, name=options.name, namespace=options.namespace)
    _note_repeated(entry)
    return entry


def choose_all_by(
    options: PlacementOptions, found: list[ManifestObject], kinds: WorkloadKinds
) -> list[ManifestObject]:
    """Return the objects of the files that are meant: see ``choose_all``; report duplicate keys."""
    chosen = choose_all(found, kinds, files=options.files, name=options.name, namespace=options.namespace)
    for entry in chosen:
        _note_repeated(entry)
    return chosen


def _note_repeated(entry: ManifestObject) -> None:
    for key in entry.document.repeated:
        note(f"{entry.document.location(key.path)}: {key.path}: duplicate key: the last value counts")


def bound_to(obj: dict[str, Any]) -> str:
    """Return the node that a Pod is on; empty for one that waits, and for any other object."""
    spec = obj.get("spec")
    is_pod = kind_of(obj) == ("v1", "Pod") and isinstance(obj.get("metadata"), dict)
    node = spec.get("nodeName") if is_pod and isinstance(spec, dict) else ""
    return node if isinstance(node, str) else ""


def show(context: click.Context, render: Callable[[int, bool], str], *, piped: int) -> None:
    """Print a report for people, colored in a terminal alone.

    Args:
        context: The command's.
        render: Makes the report, of a width in columns and with color or not.
        piped: Columns where there is no terminal.
    """
    width = shutil.get_terminal_size(fallback=(piped, 0)).columns
    text = render(width, sys.stdout.isatty() and context.color is not False)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        # Another encoding than UTF-8: bars and lines have stand-ins, names are escaped.
        encoded = text.translate(STAND_INS).encode(sys.stdout.encoding, "backslashreplace")
        text = encoded.decode(sys.stdout.encoding)
    click.echo(text, nl=False)
