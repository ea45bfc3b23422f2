"""The options of the commands that place pods, and what both ways to a cluster share: a file, or live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import click

from policies.manifests.errors import UsageError
from policies.manifests.file_name import STDIN
from webhook.cli.command import SharedOption
from webhook.cli.completing_cluster import complete_object
from webhook.cli.options import (
    READ_LIVE,
    all_namespaces_option,
    context_option,
    kubernetes_version_option,
    live_option,
    namespace_filter,
    namespace_option,
    no_all_namespaces_option,
    policy_option,
    scheduler_config_option,
    snapshot_option,
    with_options,
    workload_kind_option,
)
from webhook.cli.terminal import note
from webhook.rbac import DEFAULT_NAMESPACE as DEFAULT_EVENKEEL_NAMESPACE
from webhook.rbac import DEFAULT_SERVICE as DEFAULT_EVENKEEL_SERVICE

if TYPE_CHECKING:
    from policies.manifests.documents import ManifestObject
    from policies.model import workload_kinds
    from webhook.cli import targets


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementOptions:
    """The common options; what was not given is empty."""

    words: tuple[str, ...] = ()  #: The given object of the cluster, ``KIND/NAME`` or both by themselves.
    files: tuple[str, ...] = ()  #: The manifests, ``-`` for standard input.
    name: str = ""  #: Which object of them, ``KIND/NAME``.
    namespace: str = ""  #: The namespace of objects that name none.
    cluster: str = ""  #: The snapshot file.
    live: bool = False  #: Whether the live cluster is meant.
    context: str = ""  #: Its context of the kubeconfig.
    evenkeel_namespace: str = DEFAULT_EVENKEEL_NAMESPACE  #: Where it has Evenkeel.
    evenkeel_service: str = DEFAULT_EVENKEEL_SERVICE  #: The Service of Evenkeel there.
    #: The release to behave as; empty for the live cluster's, or the newest known.
    kubernetes_version: str = ""
    scheduler_config: str = ""  #: The KubeSchedulerConfiguration file.
    policy: tuple[str, ...] = ()  #: SpreadPolicy files, whose defaults are injected first.
    workload_kind: tuple[str, ...] = ()  #: Descriptions of further kinds with a pod template.

    def check_cluster(self) -> None:
        """Make sure that no more than one cluster is given.

        Raises:
            UsageError: It is not so.
        """
        from webhook.cli import live as cli_live

        cli_live.check_cluster(live=self.live, context=self.context, cluster=self.cluster)

    def require_cluster(self) -> None:
        """Make sure that one cluster is given.

        Raises:
            UsageError: It is not so.
        """
        self.check_cluster()
        if not self.cluster and not self.live:
            from webhook.cli import live as cli_live

            raise UsageError(cli_live.NO_CLUSTER)

    def with_default_cluster(self) -> PlacementOptions:
        """Return the same with the live cluster, as for kubectl, if an object of no cluster is named.

        With files KIND/NAME names the object of them that is meant.
        """
        if self.files and self.words:
            return replace(self, words=(), name="/".join(self.words))
        return replace(self, live=True) if self.words and not self.cluster else self

    def check(self, *, needs_cluster: bool = True) -> None:
        """Make sure that one object is given, and one cluster if it is needed.

        Raises:
            UsageError: It is not so.
        """
        self.check_cluster()
        if bool(self.files) == bool(self.words):
            raise UsageError(
                "give either a manifest, -f FILE, or an object of the cluster, such as deploy/web"
            )
        if needs_cluster:
            self.require_cluster()
        if self.cluster == STDIN and STDIN in self.files:
            raise UsageError("only one of --file and --cluster may be standard input")

    def kinds(self) -> workload_kinds.WorkloadKinds:
        """Return the kinds that make pods.

        Raises:
            UsageError: One of them is described wrongly.
        """
        from policies.model import workload_kinds

        return workload_kinds.WorkloadKinds(map(workload_kinds.parse_workload_kind, self.workload_kind))

    def target(self, kinds: workload_kinds.WorkloadKinds) -> targets.ObjectTarget | None:
        """Return the given object of the cluster; None for one in a file.

        Raises:
            UsageError: It is named wrongly.
        """
        from webhook.cli import targets

        return targets.parse_target(self.words, kinds)


#: Which object.
_OBJECT_OPTIONS: Final = (
    click.argument("words", metavar="[KIND/NAME]", nargs=-1, shell_complete=complete_object),
    click.option(
        "-f", "--file", "files", multiple=True, metavar="FILE",
        help="Manifest or folder with the pod or workload, - for stdin; may be repeated. KIND/NAME is one of"
        " its objects then."
    ),
    namespace_option("Namespace of KIND/NAME and of objects without one."),
)  # fmt: skip
#: Where the cluster's own Evenkeel is.
SERVICE_OPTIONS: Final = (
    click.option(
        "--evenkeel-namespace", cls=SharedOption, default=DEFAULT_EVENKEEL_NAMESPACE, show_default=True,
        metavar="NAME", help="Namespace of Evenkeel.",
    ),
    click.option(
        "--evenkeel-service", cls=SharedOption, default=DEFAULT_EVENKEEL_SERVICE, show_default=True,
        metavar="NAME", help="Name of Evenkeel's Service.",
    ),
)  # fmt: skip
_LIVE: Final = live_option(
    "Use the live cluster: through Evenkeel's Service, or by reading the cluster if there is none. "
    "Default for KIND/NAME without --cluster."
)
DEFAULTS_OPTION: Final = policy_option("whose default constraints are injected first", cls=SharedOption)
#: What pods of a cluster are evaluated by.
_BASIS: Final = (
    context_option(),
    kubernetes_version_option(),
    scheduler_config_option(default=""),
    DEFAULTS_OPTION,
    workload_kind_option(),
)


def placement_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the common options of commands that place an object, which make ``PlacementOptions`` of them."""
    return with_options(
        function,
        (*_OBJECT_OPTIONS, no_all_namespaces_option, snapshot_option(), _LIVE, *_BASIS, *SERVICE_OPTIONS),
    )


def object_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add those of them that say which object, for commands that read the cluster themselves."""
    return with_options(function, (*_OBJECT_OPTIONS, no_all_namespaces_option))


def targets_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add those of a command that is about any objects of a cluster, or of files."""
    words = click.argument("words", metavar="[KIND/NAME]...", nargs=-1, shell_complete=complete_object)
    return with_options(function, (words, *_OBJECT_OPTIONS[1:], all_namespaces_option))


def cluster_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add those of them that say which cluster, for commands that read it themselves."""
    return with_options(function, (snapshot_option(), live_option(), *_BASIS))


def workload_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which workloads of which cluster."""
    selector = click.option(
        "-l",
        "--selector",
        default="",
        metavar="QUERY",
        help="Only workloads with these labels, in kubectl's syntax.",
    )
    namespace = namespace_filter("Only workloads of this namespace.")
    return with_options(cluster_options(function), (namespace, all_namespaces_option, selector))


def page_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add those that say which cluster, and where its Evenkeel is if it may not be read."""
    live = live_option(f"{READ_LIVE.rstrip('.')}, or what you may see of it through Evenkeel.")
    namespace = namespace_option(
        "Namespace of manifests without one, and the one to show if you may not list the whole live cluster."
    )
    return with_options(
        function, (namespace, all_namespaces_option, snapshot_option(), live, *_BASIS, *SERVICE_OPTIONS)
    )


def choose_by(
    options: PlacementOptions, found: list[ManifestObject], kinds: workload_kinds.WorkloadKinds
) -> ManifestObject:
    """Return the object of the files that the options name: see ``choose``; report duplicate keys."""
    from webhook.cli import manifest

    entry = manifest.choose(found, kinds, files=options.files, name=options.name, namespace=options.namespace)
    _note_repeated(entry)
    return entry


def choose_all_by(
    options: PlacementOptions, found: list[ManifestObject], kinds: workload_kinds.WorkloadKinds
) -> list[ManifestObject]:
    """Return the objects of the files that are meant: see ``choose_all``; report duplicate keys."""
    from webhook.cli import manifest

    chosen = manifest.choose_all(
        found, kinds, files=options.files, name=options.name, namespace=options.namespace
    )
    for entry in chosen:
        _note_repeated(entry)
    return chosen


def _note_repeated(entry: ManifestObject) -> None:
    for key in entry.document.repeated:
        note(f"{entry.document.location(key.path)}: {key.path}: duplicate key: the last value counts")


def bound_to(obj: dict[str, Any]) -> str:
    """Return the node that a Pod is on; empty for one that waits, and for any other object."""
    from policies.model import snapshot

    spec = obj.get("spec")
    is_pod = snapshot.kind_of(obj) == ("v1", "Pod") and isinstance(obj.get("metadata"), dict)
    node = spec.get("nodeName") if is_pod and isinstance(spec, dict) else ""
    return node if isinstance(node, str) else ""
