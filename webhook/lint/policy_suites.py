"""Read the folders of ``evenkeel policy test``: policies, a cluster if there is one, and samples.

A suite is a folder with ``policy.yaml``, the policies under test, or ``suite.yaml``, which names them. A
sample's file name starts with the verdict that it must get: ``denied.too-tight.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

from policies.admission.decision import AdmissionVerdict
from policies.config.context import AdmissionContext, load_context
from policies.config.form import read
from policies.config.spread_policy import BUILTIN_PREFIX
from policies.manifests.documents import ManifestObject, load, load_strictly, objects
from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.fields import ErrorList, FieldPath
from policies.manifests.wire import DocumentFields, Keywords
from policies.model.snapshot import kind_of
from policies.model.workload_kinds import WorkloadKind
from policies.scheduler.index import INDEXED_KINDS, ClusterIndex
from webhook.lint.files import SUFFIXES, read_text

#: The files of a suite that are no samples: the policies, what names them, and the cluster.
POLICY: Final = "policy.yaml"
SUITE: Final = "suite.yaml"
CLUSTER: Final = "cluster.yaml"
#: The verdicts that a sample may have to get.
VERDICTS: Final = (
    AdmissionVerdict.ALLOWED,
    AdmissionVerdict.WARNED,
    AdmissionVerdict.DENIED,
    AdmissionVerdict.INJECTED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySuite(DocumentFields):
    """The settings of a suite of `evenkeel policy test`, in its suite.yaml."""

    #: The policies under test: files of the folder, or builtin:NAME.
    policies: Annotated[tuple[str, ...], Keywords(minItems=1)] = (POLICY,)
    scheduler_config: str | None = None  #: A KubeSchedulerConfiguration, a file of the folder.
    #: Kubernetes version of the cluster, in quotes.
    kubernetes_version: Annotated[str | None, Keywords(examples=["1.34"])] = None
    #: Custom resources with a pod template, as GROUP/KIND=TEMPLATE[,SELECTOR[,REPLICAS]].
    workload_kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One file with a verdict in its name."""

    file: str  #: Its path.
    expected: AdmissionVerdict  #: The verdict.
    #: The objects that are evaluated, each with where its kind keeps things.
    workloads: tuple[tuple[ManifestObject, WorkloadKind], ...]
    #: What they are evaluated by: the suite's cluster has the file's other objects, too.
    context: AdmissionContext


def find_suites(folder: str) -> list[Path]:
    """Return the folders that are suites: this one and those below it.

    Raises:
        DocumentError: There is none.
    """
    root = Path(folder)
    marks = {path.parent for name in (POLICY, SUITE) for path in root.rglob(name)}
    if not marks:
        raise DocumentError([f"{folder}: no folder with a {POLICY} or {SUITE} in or below it"])
    return sorted(marks)


def read_suite(folder: Path) -> list[Sample]:
    """Return the samples of a suite, by their names.

    Raises:
        DocumentError: A file cannot be read, or its name or content is not what it should be.
    """
    settings = _settings(folder)
    context, cluster = _context(folder, settings), list[ManifestObject]()
    if (folder / CLUSTER).exists():
        cluster = list(_objects(folder / CLUSTER))
    others = {POLICY, SUITE, CLUSTER, *settings.policies, settings.scheduler_config}
    files = [path for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES and path.is_file()]
    samples = [_sample(path, context, cluster) for path in files if path.name not in others]
    if not samples:
        raise DocumentError([f"{folder}: holds no sample, such as {AdmissionVerdict.DENIED}.why.yaml"])
    return samples


def _context(folder: Path, settings: PolicySuite) -> AdmissionContext:
    """Return the context that evaluates the samples of a folder, but for the cluster."""
    names = [name if name.startswith(BUILTIN_PREFIX) else str(folder / name) for name in settings.policies]
    config = settings.scheduler_config
    try:
        return load_context(
            _read,
            policies=names,
            scheduler_config=str(folder / config) if config else None,
            kubernetes_version=settings.kubernetes_version,
            workload_kinds=settings.workload_kinds,
        )
    except UsageError as error:
        raise DocumentError([f"{folder / SUITE}: {error}"]) from error


def _settings(folder: Path) -> PolicySuite:
    """Return the settings in ``suite.yaml``, with defaults for those that it leaves out."""
    file = folder / SUITE
    if not file.exists():
        return PolicySuite()
    documents = load_strictly(_read(str(file)), str(file))
    if len(documents) != 1:
        raise DocumentError([f"{file}: must hold one document, got {len(documents)}"])
    found, (document,) = ErrorList(), documents
    settings = read(PolicySuite, document.value, found)
    if settings is None or found.errors:
        raise DocumentError(document.problems(found.errors))
    return settings


def _sample(path: Path, context: AdmissionContext, cluster: list[ManifestObject]) -> Sample:
    verdict = path.name.partition(".")[0]
    if verdict not in VERDICTS:
        raise DocumentError([f"{path}: its name must start with {', '.join(VERDICTS)} and a dot"])
    workloads, others = [], []
    for manifest in _objects(path):
        group = kind_of(manifest.value)[0].rpartition("/")[0]
        kind = context.kinds.get((group, kind_of(manifest.value)[1]))
        if kind is None:
            others.append(manifest)
        else:
            workloads.append((manifest, kind))
    if not workloads:
        raise DocumentError([f"{path}: holds no pod and no workload"])
    objects_of_cluster = [*cluster, *others]
    if objects_of_cluster:
        context = replace(context, cluster=_index(objects_of_cluster))
    return Sample(str(path), AdmissionVerdict(verdict), tuple(workloads), context)


def _index(manifests: list[ManifestObject]) -> ClusterIndex:
    """Return a cluster of objects.

    Raises:
        DocumentError: One is broken, or of a kind that is of no use to anybody here.
    """
    index, problems = ClusterIndex(), list[str]()
    for manifest in manifests:
        kind = kind_of(manifest.value)
        if kind not in INDEXED_KINDS:
            where = manifest.location(FieldPath().child("kind"))
            problems.append(f"{where}: {kind[1] or 'an object without a kind'} is not used by the test")
        for error in index.apply(manifest.value):
            problems.append(f"{manifest.location(error.path)}: {error}")
    if problems:
        raise DocumentError(problems)
    return index


def _objects(path: Path) -> Iterator[ManifestObject]:
    for document in load(_read(str(path)), str(path)):
        yield from objects(document)


def _read(name: str) -> bytes:
    return read_text(name, named=True).content
