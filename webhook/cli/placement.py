"""What the commands share that ask where a pod would go: options, the cluster, the object in the file."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import click

from policies.errors import DocumentError, UsageError
from policies.evaluation.context import AdmissionContext
from policies.evaluation.placement import Placement, PlacementError, place
from policies.fields import FieldError, FieldPath, shown, shown_name
from policies.manifests import ManifestObject, load, objects
from policies.model.pod import DEFAULT_NAMESPACE
from policies.model.snapshot import kind_of
from policies.model.version import KNOWN_VERSION
from policies.model.workload import WorkloadKinds
from policies.reports.printable import one_line
from webhook.cli.completing import complete_policies
from webhook.cli.live import check_cluster, context_option
from webhook.cluster.asking import DEFAULT_NAMESPACE as DEFAULT_EVENKEEL_NAMESPACE
from webhook.cluster.asking import DEFAULT_SERVICE as DEFAULT_EVENKEEL_SERVICE
from webhook.context import build_context

#: What bars and lines are made of where a terminal cannot show them.
STAND_INS: Final = str.maketrans("█─", "#-")
#: The name that means standard input.
STDIN: Final = "-"
#: Standard input as a file that can be opened.
STDIN_FILE: Final = "/dev/stdin"
#: Objects in the same file that would be in the cluster, too.
APPLIED_ALONG: Final = frozenset({("v1", "Service"), ("v1", "Namespace")})
#: Objects that an error lists. Arbitrary.
MOST_LISTED: Final = 10

#: What is found out of an object.
_Found = TypeVar("_Found", covariant=True)  # noqa: PLC0105  # the usual suffix says less

_NAMESPACE = FieldPath(("metadata", "namespace"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementOptions:
    """The common options; what was not given is empty.

    Attributes:
        file: The manifest, ``-`` for standard input.
        name: Which object of it, ``KIND/NAME``.
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

    file: str = ""
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


_OPTIONS: Final = (
    click.option(
        "-f", "--file", default="", metavar="FILE", help="Manifest with the pod or workload; - for stdin."
    ),
    click.option(
        "--name", default="", metavar="KIND/NAME", help="Which of the objects, where the file holds several."
    ),
    click.option(
        "-n", "--namespace", default="",
        help="Namespace of objects that name none.  [default: default, or with --live the context's]",
    ),
    click.option(
        "--cluster", default="", metavar="FILE",
        help="What `kubectl get nodes,pods,services,rc,rs,sts,ns -A -o json` prints, gzip or not.",
    ),
    click.option(
        "--live", is_flag=True,
        help="Ask the Evenkeel of the live cluster; where there is none, read the cluster yourself.",
    ),
    context_option(),
    click.option(
        "--evenkeel-namespace", default=DEFAULT_EVENKEEL_NAMESPACE, show_default=True, metavar="NAME",
        help="Namespace where Evenkeel is.",
    ),
    click.option(
        "--evenkeel-service", default=DEFAULT_EVENKEEL_SERVICE, show_default=True, metavar="NAME",
        help="Service of Evenkeel there.",
    ),
    click.option(
        "--kubernetes-version", default="", metavar="VERSION",
        help=f"Release whose scheduler decides.  [default: the live cluster's, else {KNOWN_VERSION}]",
    ),
    click.option(
        "--scheduler-config", default="", metavar="FILE",
        help="The cluster's KubeSchedulerConfiguration, for its default constraints.",
    ),
    click.option(
        "--policy", multiple=True, metavar="FILE", shell_complete=complete_policies,
        help="SpreadPolicy whose default constraints are injected first, or builtin:NAME; may be repeated.",
    ),
    click.option(
        "--workload-kind", multiple=True, metavar="KIND",
        help="Further kind with a pod template: GROUP/KIND=TEMPLATE[,SELECTOR[,REPLICAS]]; may be repeated.",
    ),
)  # fmt: skip


def placement_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the common options to a command, which makes ``PlacementOptions`` of them."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def read_context(options: PlacementOptions) -> AdmissionContext:
    """Return what the options say to judge by; what is left out of its files is told on stderr.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be.
        UsageError: Options that do not go together.
        ClusterError: The live cluster cannot be read.
    """
    if options.live:
        # Only who asks for a live cluster waits for what talks to it.
        from webhook.cli.live_placement import read_live_context  # noqa: PLC0415

        return read_live_context(options)
    if options.cluster == STDIN:
        options = replace(options, cluster=STDIN_FILE)
    return build_context(options, note)


def note(text: str) -> None:
    """Tell a line beside the answer."""
    click.echo(f"evenkeel: {one_line(text)}", err=True)


class Judge(Protocol[_Found]):
    """Finds something out of an object; ``place`` does, or what fails as it does."""

    def __call__(self, obj: dict[str, Any], context: AdmissionContext, /, *, namespace: str) -> _Found:
        """Judge an object, in a namespace if it names none itself."""


def place_file(options: PlacementOptions) -> Placement:
    """Return where the next pod of the object in a file would go: see ``judge_file``."""
    return judge_file(options, place)


def judge_file(options: PlacementOptions, judge: Judge[_Found]) -> _Found:
    """Return what is to be found out of the object in a file.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be, or the object cannot be placed; every problem is
            ``file:line: field: problem``.
        UsageError: Options that do not go together.
        ClusterError: The live cluster cannot be read.
    """
    options.check_cluster()
    if not options.cluster and not options.live:
        text = "evenkeel snapshot -o cluster.json"
        raise UsageError(f"give the cluster to judge by: --live, or --cluster FILE; this makes one: {text}")
    if options.file == options.cluster == STDIN:
        raise UsageError("only one of --file and --cluster can be standard input")
    context = read_context(options)
    found = read_objects(options.file)
    entry = choose(found, options, context.kinds)
    for key in entry.document.repeated:
        note(f"{entry.document.location(key.path)}: {key.path}: duplicate key: the last value counts")
    if options.live:
        from webhook.cli.live_placement import in_context  # noqa: PLC0415

        options = in_context(options)
    problems = _apply_along(found, options, context)
    try:
        judged = judge(entry.value, context, namespace=options.namespace)
    except PlacementError as error:
        problems += told(entry, error.errors)
        raise DocumentError(problems) from error
    if problems:
        raise DocumentError(problems)
    return judged


def read_objects(file: str) -> list[ManifestObject]:
    """Return the Kubernetes objects of a file.

    Raises:
        OSError: It cannot be opened.
        DocumentError: It is neither YAML nor JSON.
    """
    content = _standard_input() if file == STDIN else Path(file).read_bytes()
    shown_file = "<stdin>" if file == STDIN else shown_name(file)
    return [entry for document in load(content, shown_file) for entry in objects(document)]


@cache
def _standard_input() -> bytes:
    """Return standard input, which can be read only once, also to who asks again."""
    return sys.stdin.buffer.read()


def choose(found: list[ManifestObject], options: PlacementOptions, kinds: WorkloadKinds) -> ManifestObject:
    """Return the one object that is to be placed.

    Raises:
        DocumentError: There is none, or more than one.
    """
    file = "<stdin>" if options.file == STDIN else shown_name(options.file)
    making = [entry for entry in found if _makes_pods(entry, kinds)]
    chosen = [entry for entry in making if _is_named(entry, options.name)] if options.name else making
    if len(chosen) == 1:
        _check_namespace(chosen[0], options.namespace)
        return chosen[0]
    if not making:
        held = f"; it holds {_listed(found)}" if found else ""
        raise DocumentError([f"{file}: holds no Pod and no workload that makes some{held}"])
    if not chosen:
        raise DocumentError([f"{file}: holds no {shown(options.name)}; it holds {_listed(making)}"])
    raise DocumentError(
        [f"{file}: holds {len(chosen)} to choose from, say which with --name: {_listed(chosen)}"]
    )


def _makes_pods(entry: ManifestObject, kinds: WorkloadKinds) -> bool:
    version, kind = kind_of(entry.value)
    return kinds.find(version.rpartition("/")[0], kind) is not None


def _is_named(entry: ManifestObject, wanted: str) -> bool:
    """Tell whether an object is meant by ``KIND/NAME``, ``KIND.GROUP/NAME`` or ``NAME``."""
    version, kind = kind_of(entry.value)
    wanted_kind, _, name = wanted.rpartition("/")
    kinds = {"", kind.lower(), f"{kind}.{version.rpartition('/')[0]}".lower()}
    return _name(entry) == name and wanted_kind.lower() in kinds


def _name(entry: ManifestObject) -> str:
    metadata = entry.value.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    name = names.get("name") or names.get("generateName")
    return name if isinstance(name, str) else ""


def _listed(entries: list[ManifestObject]) -> str:
    titles = [
        f"{shown_name(kind_of(e.value)[1])}/{shown_name(_name(e))} (line {e.location(FieldPath()).line})"
        for e in entries[:MOST_LISTED]
    ]
    rest = len(entries) - MOST_LISTED
    return ", ".join(titles) + (f" and {rest} more" if rest > 0 else "")


def _check_namespace(entry: ManifestObject, namespace: str) -> None:
    metadata = entry.value.get("metadata")
    own = metadata.get("namespace") if isinstance(metadata, dict) else None
    if namespace and own and own != namespace:
        text = f"is {shown(own)}, but --namespace says {shown(namespace)}"
        raise DocumentError([f"{entry.location(_NAMESPACE)}: {_NAMESPACE}: {text}"])


def _apply_along(
    found: list[ManifestObject], options: PlacementOptions, context: AdmissionContext
) -> list[str]:
    """Add to the cluster what would be in it with the object; return what is wrong with it."""
    problems: list[str] = []
    for entry in found:
        if context.cluster is None or kind_of(entry.value) not in APPLIED_ALONG:
            continue
        obj, metadata = entry.value, entry.value.get("metadata")
        if isinstance(metadata, dict) and not metadata.get("namespace"):
            obj = obj | {"metadata": metadata | {"namespace": options.namespace or DEFAULT_NAMESPACE}}
        problems += told(entry, context.cluster.apply(obj))
    return problems


def told(entry: ManifestObject, errors: list[FieldError] | tuple[FieldError, ...]) -> Iterator[str]:
    """Yield a line for each error of an object, in the order of its lines."""
    for error in sorted(errors, key=lambda error: entry.location(error.path).line):
        yield f"{entry.location(error.path)}: {error}"


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
