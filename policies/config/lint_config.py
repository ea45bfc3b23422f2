"""The LintConfig document, ``evenkeel.yaml``: how a repository is linted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from policies.config.document_fields import RuleId
from policies.manifests.skipped import FailOnSkipped
from policies.manifests.wire import DocumentFields, Keywords

#: The kind of the document.
KIND = "LintConfig"
#: The name under which the document is found, in the folder of what is linted or above it.
FILE_NAME = "evenkeel.yaml"


class FailOn(StrEnum):
    """The lowest severity of findings that makes the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


class Rendering(StrEnum):
    """Whether a program of another project is run."""

    AUTO = "auto"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRelease(DocumentFields):
    """One way in which a chart is installed."""

    name: str  #: The release's name.
    namespace: str | None = None  #: The namespace that it is installed in.
    #: Values files; the last one has precedence.
    values: Annotated[tuple[str, ...], Keywords(examples=[["charts/shop/values-prod.yaml"]])] = ()
    #: Single values by their paths, such as image.tag. They override those of the files.
    set: Annotated[Mapping[str, Any], Keywords(examples=[{"image.tag": "1.2.3"}])] = field(
        default_factory=dict
    )
    #: APIs of the cluster besides those of Kubernetes, such as monitoring.coreos.com/v1.
    api_versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartReleases(DocumentFields):
    """How a chart is installed: it is rendered once for each of its releases."""

    path: Annotated[str, Keywords(examples=["charts/shop"])]  #: The chart's folder.
    releases: tuple[ChartRelease, ...]  #: Its releases.


@dataclass(frozen=True, slots=True, kw_only=True)
class LintConfig(DocumentFields):
    """How a repository is linted, unless the command line differs. Paths count from this file."""

    #: Files and folders that are read where the command line names none; without it, the folder of this file.
    paths: Annotated[tuple[str, ...], Keywords(examples=[["deploy", "charts"]])] = ()
    #: Files and folders to skip: patterns as in .gitignore.
    exclude: Annotated[tuple[str, ...], Keywords(examples=[["tests/", "*.generated.yaml"]])] = ()
    select: tuple[RuleId, ...] = ()  #: The only rules to run; empty means all.
    ignore: tuple[RuleId, ...] = ()  #: Rules not to run.
    enable: tuple[RuleId, ...] = ()  #: Opt-in rules to run too.
    fail_on: FailOn = FailOn.ERROR  #: Exit 1 if there are findings of this severity or worse.
    #: What makes the exit code 2 if it is skipped, such as a chart that cannot be rendered. named: what the
    #: command line or this file names. any: anything. never: nothing.
    fail_on_skipped: FailOnSkipped = FailOnSkipped.NAMED
    #: SpreadPolicy files, or builtin:NAME. They set severities and parameters in their scope.
    policies: Annotated[tuple[str, ...], Keywords(examples=[["policy.yaml"]])] = ()
    scheduler_config: str | None = None  #: The cluster's KubeSchedulerConfiguration file.
    #: A file with the cluster's nodes, as "kubectl get nodes -o json" prints them.
    cluster: str | None = None
    #: Kubernetes version of the cluster, in quotes.
    kubernetes_version: Annotated[str | None, Keywords(examples=["1.34"])] = None
    #: Custom resources with a pod template, as GROUP/KIND=TEMPLATE[,SELECTOR[,REPLICAS]].
    workload_kinds: tuple[str, ...] = ()
    #: A file with findings that are not reported, written by --write-baseline.
    baseline: Annotated[str | None, Keywords(examples=["evenkeel-baseline.json"])] = None
    helm: Rendering = Rendering.AUTO  #: Whether charts are rendered. auto: if helm is installed.
    #: How charts are installed; one that is not listed is rendered as the HelmReleases and Applications of
    #: the repository install it, or else with its own values.
    charts: tuple[ChartReleases, ...] = ()
    #: Whether kustomizations are built. auto: if kustomize or kubectl is installed.
    kustomize: Rendering = Rendering.AUTO
