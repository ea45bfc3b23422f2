"""Whether replicas answer, stay up, stand apart and are of one release. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from policies.manifests.errors import UsageError
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.reports.lint_run import plural
from policies.scheduler.releases import OLDEST_VERSION
from webhook.doctor.facts import Fact, Facts, Known, Replica, UnknownError, Voice
from webhook.doctor.finding import Check, Verdict, listed, ok, problem, warning
from webhook.doctor.reach import lost
from webhook.settings import DEFAULT_MAX_SNAPSHOT_AGE_S

#: Replicas with which one may be lost.
ENOUGH: Final = 2
#: Restarts of a container that are told. Arbitrary: a node that is mended twice a year stays below.
MANY_RESTARTS: Final = 5
#: What a replica tells of its picture of the cluster: its age in seconds, and whether it is whole (0 or 1).
_AGE_METRIC: Final = "evenkeel_cluster_age_seconds"
_SYNCED_METRIC: Final = "evenkeel_cluster_synced"
#: Whether it uses what it knows of the cluster (0) or not (1).
_STALE_METRIC: Final = "evenkeel_cluster_cache_stale"

T = TypeVar("T")


def _endpoints(facts: Facts) -> Iterator[Verdict]:
    """Tell whether the Service leads anywhere."""
    names = facts.names
    which = f"Service {names.namespace}/{names.service}"
    if not facts.service.get():
        yield problem(f"{which} does not exist: the API server reaches no replica", facts.install())
        return
    found = facts.endpoints.get()
    if found.ready:
        yield ok(f"{which} has {plural(found.ready, 'ready endpoint')}")
        return
    yield problem(
        f"{which} has no ready endpoint"
        + (f", {found.not_ready} that are not ready" if found.not_ready else "")
        + ": every call fails",
        f"kubectl -n {names.namespace} get pods -o wide, and kubectl -n {names.namespace} describe pods",
    )


def _ready(facts: Facts) -> Iterator[Verdict]:
    """Tell whether there are enough replicas, and all of them are ready."""
    workload = facts.workload.get()
    replicas = facts.replicas.get()
    namespace = facts.names.namespace
    if workload is None and not replicas:
        yield problem(f"namespace {namespace} has no Deployment behind the Service", facts.install())
        return
    # Where something else than a Deployment makes the pods, those that are there are those that are wanted.
    wanted = workload.replicas if workload else len(replicas)
    if wanted < ENOUGH:
        yield warning(
            f"{plural(wanted, 'replica')} wanted: while none runs, nobody is reviewed",
            f"kubectl -n {namespace} scale deployment/{facts.deployment} --replicas={ENOUGH}",
        )
    unready = [replica for replica in replicas if not replica.ready]
    for replica in unready:
        yield warning(
            f"{replica.name} is not ready{f': {replica.state}' if replica.state else ''}",
            f"kubectl -n {namespace} describe pod {replica.name}, and "
            f"kubectl -n {namespace} logs {replica.name}{' --previous' if replica.restarts else ''}",
        )
    if len(replicas) < wanted:
        yield warning(
            f"{len(replicas)} of {wanted} replicas exist",
            f"kubectl -n {namespace} describe replicasets, and look at the events",
        )
    if wanted >= ENOUGH and not unready and len(replicas) >= wanted:
        yield ok(f"{len(replicas)} of {wanted} replicas are ready")


def _restarts(facts: Facts) -> Iterator[Verdict]:
    """Find replicas that ended often, or for lack of memory."""
    namespace = facts.names.namespace
    found = [
        replica
        for replica in facts.pods()
        if replica.restarts >= MANY_RESTARTS or (replica.restarts and replica.state == "OOMKilled")
    ]
    for replica in found:
        ended = f", last by {replica.state}" if replica.state else ""
        yield warning(
            f"{replica.name} restarted {plural(replica.restarts, 'time')}{ended}",
            f"kubectl -n {namespace} set resources deployment/{facts.deployment} --limits=memory=…, "
            "with more than now"
            if replica.state == "OOMKilled"
            else f"kubectl -n {namespace} logs {replica.name} --previous",
        )
    if not found:
        yield ok(plural(sum(replica.restarts for replica in facts.pods()), "restart"))


def _apart(facts: Facts) -> Iterator[Verdict]:
    """Tell whether the loss of one node, or of one zone, takes all replicas."""
    placed = [replica for replica in facts.pods() if replica.node]
    if len(placed) < ENOUGH:
        raise UnknownError("fewer than 2 replicas have a node")
    places = facts.places.get()
    zones = {place.node: place.zone for place in places if place.zone}
    used_nodes = {replica.node for replica in placed}
    used_zones = {zones[node] for node in used_nodes if node in zones}
    all_zones = set(zones.values())
    if len(used_nodes) == 1 and len(places) > 1:
        yield _together(facts, placed, f"on node {placed[0].node}", plural(len(places), "node"))
    elif len(used_zones) == 1 and len(all_zones) > 1 and used_nodes <= zones.keys():
        yield _together(facts, placed, f"in zone {used_zones.pop()}", plural(len(all_zones), "zone"))
    else:
        among = f" in {plural(len(used_zones), 'zone')}" if used_zones else ""
        yield ok(f"{len(placed)} replicas on {plural(len(used_nodes), 'node')}{among}")


def _together(facts: Facts, placed: list[Replica], where: str, choice: str) -> Verdict:
    return warning(
        f"{len(placed)} replicas are all {where}, though {choice} could take them",
        f"{facts.restart()}; if they stay together, evenkeel explain tells why",
    )


def _budget(facts: Facts) -> Iterator[Verdict]:
    """Tell whether a disruption budget protects the replicas, and lets nodes be drained."""
    replicas = facts.pods()
    namespace = facts.names.namespace
    budgets = [
        budget
        for budget in facts.budgets.get()
        if budget.selector is not None
        and any(budget.selector.matches(replica.labels) for replica in replicas)
    ]
    if not budgets:
        selector = ",".join(f"{key}={value}" for key, value in _shared_labels(replicas))
        yield warning(
            "no PodDisruptionBudget: a drain may evict all replicas at once",
            f"kubectl -n {namespace} create pdb {facts.names.service} --selector={selector} "
            "--max-unavailable=1",
        )
    for budget in budgets:
        if not budget.blocking:
            yield ok(f"PodDisruptionBudget {budget.name}: {budget.asks}, {budget.allows} may be evicted now")
        else:
            yield warning(
                f"PodDisruptionBudget {budget.name} ({budget.asks}) lets nothing be evicted of "
                f"{plural(len(replicas), 'replica')}: it blocks the drain of their nodes",
                f"kubectl -n {namespace} patch pdb {budget.name} --type=merge "
                '-p \'{"spec":{"minAvailable":null,"maxUnavailable":1}}\''
                + ("" if len(replicas) > 1 else ", with 2 replicas or more"),
            )
    if len(budgets) > 1:
        yield problem(
            f"{len(budgets)} PodDisruptionBudgets select the replicas: no eviction is possible then",
            f"kubectl -n {namespace} delete pdb {budgets[-1].name}",
        )


def _shared_labels(replicas: tuple[Replica, ...]) -> list[tuple[str, str]]:
    shared = set.intersection(*(set(replica.labels.items()) for replica in replicas))
    return sorted((key, value) for key, value in shared if key != "pod-template-hash")


def _one_release(facts: Facts) -> Iterator[Verdict]:
    """Tell whether replicas run one image, and the release of this program."""
    replicas = facts.pods()
    images = Counter(replica.image_id or replica.image for replica in replicas)
    if len(images) > 1:
        told = listed([f"{count} of {image}" for image, count in images.most_common()])
        yield warning(
            f"replicas run {len(images)} images: {told}",
            f"kubectl -n {facts.names.namespace} rollout status deployment, and if none goes on: "
            f"{facts.restart()}",
        )
    versions, unheard = _told(facts, lambda voice: voice.version)
    if not versions:
        raise UnknownError(unheard)
    releases = sorted(set(versions.values()))
    if releases != [facts.tool_version]:
        yield warning(
            f"replicas are of release {listed(releases)}, this program of {facts.tool_version}: "
            "they may judge differently",
            f"pip install evenkeel=={releases[-1]}, or upgrade the installation to {facts.tool_version}",
        )
    elif len(images) == 1:
        yield ok(f"{plural(len(replicas), 'replica')} and this program are of release {facts.tool_version}")


def _says_ready(facts: Facts) -> Iterator[Verdict]:
    """Repeat why replicas say that they are not ready, and whom the API server does not reach."""
    unreached = lost(facts)
    yield from unreached
    reasons, unheard = _told(facts, lambda voice: voice.reasons)
    grave = problem if all(reasons.values()) else warning
    for name, why in reasons.items():
        for reason in why:
            yield grave(f"{name}: {reason}", f"kubectl -n {facts.names.namespace} logs {name}")
    if reasons and not any(reasons.values()):
        yield ok(f"{plural(len(reasons), 'replica')} asked, each ready by its own word")
    if unheard and not unreached:
        raise UnknownError(unheard)


def _picture(facts: Facts) -> Iterator[Verdict]:
    """Tell how old the replicas' pictures of the cluster are, by their metrics."""
    metrics, unheard = _told(facts, lambda voice: voice.metrics)
    if not metrics:
        raise UnknownError(unheard)
    following = {name: told for name, told in metrics.items() if _SYNCED_METRIC in told}
    if not following:
        yield ok("replicas follow no cluster")
        return
    try:
        limit_s = float(facts.setting("max-snapshot-age-s") or DEFAULT_MAX_SNAPSHOT_AGE_S)
    except ValueError:
        limit_s = DEFAULT_MAX_SNAPSHOT_AGE_S
    stale = {
        name: told.get(_AGE_METRIC, 0.0)
        for name, told in following.items()
        if not told[_SYNCED_METRIC] or told.get(_STALE_METRIC) or told.get(_AGE_METRIC, 0.0) > limit_s
    }
    for name, age_s in stale.items():
        synced = following[name][_SYNCED_METRIC]
        yield warning(
            f"{name}: its picture of the cluster is {age_s:,.0f} s old"
            f"{f', above {limit_s:,.0f} s' if age_s > limit_s else ', and the API server refuses more'}: "
            "findings that need it are withheld, and nothing is injected into pods"
            if synced
            else f"{name}: has no picture of the cluster yet: findings that need it are withheld",
            f"kubectl -n {facts.names.namespace} logs {name}, and look at check permissions-needed",
        )
    if not stale:
        oldest = max(told.get(_AGE_METRIC, 0.0) for told in following.values())
        yield ok(f"the oldest picture of the cluster is {oldest:,.0f} s old")


def _told(facts: Facts, ask: Callable[[Voice], Fact[T]]) -> tuple[dict[str, T], str]:
    """Return what replicas say, by their names, and why one of them says nothing; empty if all do."""
    said, unheard = {}, ""
    for replica in facts.pods():
        answer = ask(facts.voices[replica.name])
        if isinstance(answer, Known):
            said[replica.name] = answer.value
        else:
            unheard = answer.why
    return said, unheard


def _kubernetes_version(facts: Facts) -> Iterator[Verdict]:
    """Tell whether replicas judge by the release that the cluster runs, and whether it is known."""
    version, replicas = facts.version.get(), facts.pods()
    if version > KNOWN_VERSION:
        yield warning(
            f"the cluster runs Kubernetes {version}, newer than {KNOWN_VERSION}, the newest that this "
            "release was measured on: fields that came since are let pass",
            "upgrade Evenkeel",
        )
    if version < OLDEST_VERSION:
        yield warning(
            f"the cluster runs Kubernetes {version}, older than {OLDEST_VERSION}, the oldest whose scheduler "
            "is known: pods are judged as there",
            "upgrade the cluster",
        )
    known = max(version, OLDEST_VERSION)
    wrong = {replica.name: judged for replica in replicas if (judged := _judged(replica, known)) != known}
    for judged in dict.fromkeys(wrong.values()):
        names = listed([name for name, told in wrong.items() if told == judged])
        yield warning(
            f"{names}: judges by Kubernetes {judged}, the cluster runs {version}",
            f"set --kubernetes-version {known} (EVENKEEL_KUBERNETES_VERSION), or leave it out with --live",
        )
    if not wrong and OLDEST_VERSION <= version <= KNOWN_VERSION:
        yield ok(f"replicas judge by Kubernetes {version}, as the cluster runs")


def _judged(replica: Replica, version: KubernetesVersion) -> KubernetesVersion:
    """Return the release that a replica judges by: what it is told, or the cluster's if it follows one."""
    given = replica.settings.get("kubernetes-version", "")
    try:
        return KubernetesVersion.parse(given)
    except UsageError:
        return version if "live" in replica.settings else KNOWN_VERSION


CHECKS: Final = (
    Check("service-endpoints", _endpoints),
    Check("replicas-ready", _ready),
    Check("replicas-restarts", _restarts),
    Check("replicas-apart", _apart),
    Check("disruption-budget", _budget),
    Check("one-release", _one_release),
    Check("replicas-say-ready", _says_ready),
    Check("cluster-picture", _picture),
    Check("kubernetes-version", _kubernetes_version),
)
