"""The total requests of a pod, as the scheduler counts them, and its containers' host ports and images.

Source: ``PodRequests`` of ``component-helpers/resource/helpers.go``, for the defaults of absent requests
``pkg/apis/core/v1/defaults.go``, for what is compared ``pkg/scheduler/framework/types.go``; ``GetHostPorts``,
``pkg/scheduler/util/utils.go``, and ``normalizedImageName``,
``pkg/scheduler/framework/plugins/imagelocality/image_locality.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from policies.manifests.fields import STATUS, ErrorList, FieldPath, object_items, text_member
from policies.model.labels import label_key_problems
from policies.model.pod_reading import EVERY_AMOUNT, AmountReading
from policies.model.quantity import read_quantities, rounded, unit_of

#: A pod's requests, sorted by name and without zeros: cpu in thousandths, everything else in units.
Requests = tuple[tuple[str, int], ...]

#: What a container without a request counts as where nodes are compared by what is free, in billionths:
#: ``DefaultMilliCPURequest`` and ``DefaultMemoryRequest``, ``pkg/scheduler/util/pod_resources.go``.
ASSUMED: Final = {"cpu": 100 * 10**6, "memory": 200 * 2**20 * 10**9}
#: The names under which what is so taken is summed up, as no resource is called.
ASSUMED_NAMES: Final = {"cpu": "cpu (assumed)", "memory": "memory (assumed)"}

#: The names without a domain that the scheduler compares, apart from those of ``SCALAR_PREFIXES``.
PLAIN_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
#: What the names of huge pages start with: besides cpu and memory all that a pod as a whole can request.
HUGE_PAGES = "hugepages-"
#: What the other names without a domain start with that it compares.
SCALAR_PREFIXES = (HUGE_PAGES, "attachable-volumes-")
#: The address that means all of a node's.
EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104  # nothing listens on it here


def is_compared(name: str) -> bool:
    """Return whether the scheduler compares a requested resource with what nodes have.

    >>> is_compared("example.com/gpu"), is_compared("pods")
    (True, False)
    """
    if name in PLAIN_RESOURCES or name.startswith(SCALAR_PREFIXES) or "kubernetes.io/" in name:
        return True
    # An extended resource; the name of its quota must be valid too.
    return "/" in name and not name.startswith("requests.") and not label_key_problems(f"requests.{name}")


def named_assumed(total: Mapping[str, int]) -> Requests:
    """Return the CPU and memory of a total in billionths, under the names of ``ASSUMED_NAMES``."""
    return tuple((text, rounded(name, total.get(name, 0))) for name, text in ASSUMED_NAMES.items())


def compared(total: Mapping[str, int]) -> Requests:
    """Return the part of a total in billionths that the scheduler compares with what nodes have."""
    sizes = ((name, rounded(name, total[name])) for name in sorted(total) if is_compared(name))
    return tuple((name, size) for name, size in sizes if size)


def is_sidecar(container: Mapping[str, Any]) -> bool:
    """Return whether an init container runs beside the containers."""
    return container.get("restartPolicy") == "Always"


class PodAmounts:
    """The amounts of one pod, as a release sums them up.

    Containers are summed; an init container needs its own share and that of the sidecars before it; the
    larger counts. Absent requests default to limits, ``spec.resources`` goes before the sum of the
    containers, and the overhead comes on top.
    """

    def __init__(
        self,
        spec: Mapping[str, Any],
        path: FieldPath,
        found: ErrorList,
        *,
        status: object = None,
        reading: AmountReading = EVERY_AMOUNT,
    ) -> None:
        """Read the amounts.

        Args:
            spec: The pod's spec.
            path: Where the spec is.
            found: Takes what is no quantity.
            status: The pod's status, of one that runs: while it is resized, containers may hold more than the
                spec requests.
            reading: What its release counts.
        """
        self._reading = reading
        self._resizing = Resizing(
            status if reading.resize_status else None, found, of_pod=reading.pod_resize_status
        )
        self._containers = self._read(spec, "containers", path, found)
        self._init_containers = self._read(spec, "initContainers", path, found)
        self._of_pod = self._pod_level(spec, path, found) if reading.pod_resources else {}
        self._overhead = read_quantities(spec.get("overhead"), path.child("overhead"), found)

    def requests(self) -> Requests:
        """Return the requests, in all."""
        return compared(self._total())

    def assumed(self, *, running: bool = False) -> Requests:
        """Return the requested CPU and memory, with an assumed amount where a container requests none.

        The scheduler compares nodes by it (``NonZeroRequested``); the names are those of ``ASSUMED_NAMES``.
        Of a running pod older releases count otherwise.
        """
        if running and self._reading.sidecars and not self._reading.assumes_sidecars:
            return named_assumed(self._assumed_of_running())
        return named_assumed(self._total(ASSUMED))

    def asked_zero(self) -> tuple[str, ...]:
        """Return the resources besides cpu, memory and ephemeral-storage of which it requests 0."""
        return tuple(
            name
            for name, quantity in sorted(self._total().items())
            if not quantity and name not in PLAIN_RESOURCES and is_compared(name)
        )

    def cpu_overhead(self) -> int:
        """Return how many thousandths of cpu the overhead is more than its cores, rounded up.

        What older releases leave out where they take cores for thousandths.
        """
        quantity = self._overhead.get("cpu", 0)
        return rounded("cpu", quantity) - rounded("", quantity)

    def _total(self, assumed: Mapping[str, int] = MappingProxyType({})) -> dict[str, int]:
        """Return the requests, in billionths; ``assumed`` where a container requests none."""
        total = self._of_containers(assumed, self._resizing) | self._resizing.of_pod(self._of_pod)
        _add(total, self._in_whole(self._overhead))
        return total

    def _of_containers(self, assumed: Mapping[str, int], resizing: Resizing) -> dict[str, int]:
        total: dict[str, int] = {}
        for container, asked in self._containers:
            _add(total, {**assumed, **resizing.of_container(container, asked)})
        sidecars: dict[str, int] = {}
        peak: dict[str, int] = {}
        for container, asked in self._init_containers:
            runs_on = self._reading.sidecars and is_sidecar(container)
            needed = {**assumed, **(resizing.of_container(container, asked) if runs_on else asked)}
            if runs_on:
                _add(total, needed)
            # Of what it does not request itself, the peak has what the sidecars before it request.
            together = {name: quantity + sidecars.get(name, 0) for name, quantity in needed.items()}
            raise_to(peak, together)
            if runs_on:
                sidecars |= together
        raise_to(total, peak)
        return total

    def _assumed_of_running(self) -> dict[str, int]:
        """Return the amounts that ``calculateResource`` of Kubernetes 1.29 to 1.31 assumes of a pod.

        Sidecars count at the start of the pod alone, and an amount is assumed where neither an init container
        nor the sidecars before it request any. Source: ``pkg/scheduler/framework/types.go``, Kubernetes 1.30.
        """
        total: dict[str, int] = {}
        for _, asked in self._containers:
            _add(total, {**ASSUMED, **asked})
        sidecars: dict[str, int] = {}
        for container, asked in self._init_containers:
            together = dict(sidecars)
            _add(together, asked)
            raise_to(total, {**ASSUMED, **together})
            if is_sidecar(container):
                sidecars = together
        _add(total, self._overhead)
        return total

    def _read(
        self, spec: Mapping[str, Any], name: str, path: FieldPath, found: ErrorList
    ) -> list[tuple[Mapping[str, Any], dict[str, int]]]:
        """Return the containers of a list, each with what it requests."""
        listed: list[tuple[Mapping[str, Any], dict[str, int]]] = []
        for at, container in found.objects(spec.get(name), path.child(name)):
            where = at.child("resources")
            resources = found.mapping(container.get("resources"), where)
            limits = read_quantities(resources.get("limits"), where.child("limits"), found)
            asked = limits | read_quantities(resources.get("requests"), where.child("requests"), found)
            listed.append((container, self._in_whole(asked)))
        return listed

    def _pod_level(self, spec: Mapping[str, Any], path: FieldPath, found: ErrorList) -> dict[str, int]:
        """Return the requests of the pod as a whole, which replace those of its containers.

        On by default from 1.34 (KEP-2837). Where the pod has limits, what its containers request is used for
        a request, or else the limit: ``defaultPodRequests``. Of huge pages it is always the limit.
        """
        where = path.child("resources")
        resources = found.mapping(spec.get("resources"), where)
        requests = read_quantities(resources.get("requests"), where.child("requests"), found)
        limits = read_quantities(resources.get("limits"), where.child("limits"), found)
        if limits:
            # As the API server sees it before the pod runs: whatever a status has later.
            asked = self._of_containers({}, Resizing(None, ErrorList()))
            of_containers = {n: size for n, size in asked.items() if not n.startswith(HUGE_PAGES)}
            requests = limits | of_containers | requests
        return {
            name: request
            for name, request in requests.items()
            if name in ("cpu", "memory") or name.startswith(HUGE_PAGES)
        }

    def _in_whole(self, amounts: dict[str, int]) -> dict[str, int]:
        """Return amounts as the release sums them up, in billionths."""
        if self._reading.sums_exactly:
            return amounts
        return {name: rounded(name, quantity) * unit_of(name) for name, quantity in amounts.items()}


class Resizing:
    """The amounts that a bound pod and its containers hold by the status, which a resize makes differ.

    The scheduler looks at what is allocated only where the status has ``resources`` too, which a kubelet
    writes that can resize (KEP-1287, from 1.36 also KEP-5419, of the pod as a whole).
    """

    def __init__(self, status: object, found: ErrorList, *, of_pod: bool = True) -> None:
        self._held: dict[str, list[dict[str, int]] | None] = {}
        self._held_by_pod: list[dict[str, int]] | None = None
        self._infeasible = False
        if isinstance(status, dict):
            self._read(status, found, of_pod=of_pod)

    def _read(self, raw: dict[str, Any], found: ErrorList, *, of_pod: bool) -> None:
        self._held = {
            text_member(entry, "name"): _held_amounts(entry, where, found)
            for member in ("containerStatuses", "initContainerStatuses")
            for where, entry in found.objects(raw.get(member), STATUS.child(member))
        }
        self._held_by_pod = _held_amounts(raw, STATUS, found) if of_pod else None
        conditions = list(found.objects(raw.get("conditions"), STATUS.child("conditions")))
        reasons = [entry.get("reason") for _, entry in conditions if entry.get("type") == "PodResizePending"]
        self._infeasible = reasons[:1] == ["Infeasible"]

    def of_container(self, container: Mapping[str, Any], asked: dict[str, int]) -> dict[str, int]:
        """Return the amounts that count for a resizable container: no init container but a sidecar."""
        held = self._held.get(text_member(container, "name")) if self._held else None
        return self._larger(asked, held)

    def of_pod(self, asked: dict[str, int]) -> dict[str, int]:
        """Return the amounts that count for the pod as a whole, of resources that it requests so."""
        larger = self._larger(asked, self._held_by_pod)
        return {name: larger.get(name, 0) for name in asked}

    def _larger(self, asked: dict[str, int], held: list[dict[str, int]] | None) -> dict[str, int]:
        """Return the larger of the requested and the held amounts; an infeasible resize does not count."""
        if held is None:
            return dict(asked)
        larger = {} if self._infeasible else dict(asked)
        for amounts in held:
            raise_to(larger, amounts)
        return larger


def _held_amounts(entry: Mapping[str, Any], path: FieldPath, found: ErrorList) -> list[dict[str, int]] | None:
    """Return the used and the allocated amounts of a status; None where it lacks the used ones."""
    where = path.child("resources")
    resources = found.mapping(entry.get("resources"), where)
    used = read_quantities(resources.get("requests"), where.child("requests"), found)
    allocated = read_quantities(entry.get("allocatedResources"), path.child("allocatedResources"), found)
    return None if entry.get("resources") is None else [used, allocated]


def raise_to(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    """Give a total of each resource at least an amount."""
    for name, quantity in amounts.items():
        total[name] = max(total.get(name, quantity), quantity)


def _add(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, quantity in amounts.items():
        total[name] = total.get(name, 0) + quantity


class HostPort(NamedTuple):
    """A port of the node that a container takes."""

    protocol: str
    port: int
    address: str = EVERY_ADDRESS
    #: Whether a sidecar takes it, which older releases do not count.
    sidecar: bool = False


class Images(NamedTuple):
    """The images of a pod."""

    #: As nodes list them, one for each container; empty where it names none.
    containers: tuple[str, ...] = ()
    init_containers: tuple[str, ...] = ()  #: The same for init containers.
    volumes: tuple[str, ...] = ()  #: The same for image volumes.


NO_IMAGES: Final = Images()


def host_ports(spec: Mapping[str, Any]) -> tuple[HostPort, ...]:
    """Return the host ports of the containers that run as long as the pod; what is no port is passed over.

    On the host's network every port of a container is one of the host, as the API server's defaults have it.
    """
    on_host = spec.get("hostNetwork") is True
    found = []
    for container, beside in _running(spec):
        for entry in object_items(container.get("ports")):
            port = entry.get("hostPort") or (on_host and entry.get("containerPort"))
            protocol, address = entry.get("protocol") or "TCP", entry.get("hostIP") or EVERY_ADDRESS
            if type(port) is int and port > 0 and isinstance(protocol, str) and isinstance(address, str):
                found.append(HostPort(protocol, port, address, beside))
    return tuple(found)


def images_of(spec: Mapping[str, Any]) -> Images:
    """Return the images of a pod; what names none has an empty name."""
    volumes = [volume["image"] for volume in object_items(spec.get("volumes")) if volume.get("image")]
    return Images(
        tuple([_image(entry.get("image")) for entry in object_items(spec.get("containers"))]),
        tuple([_image(entry.get("image")) for entry in object_items(spec.get("initContainers"))]),
        tuple([_image(entry.get("reference")) for entry in object_items(volumes)]),
    )


def _image(name: object) -> str:
    """Return an image with the tag that a container runtime takes where none is written; empty for no name.

    >>> _image("registry:5000/app"), _image("app:1"), _image(None)
    ('registry:5000/app:latest', 'app:1', '')
    """
    if not isinstance(name, str):
        return ""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def _running(spec: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """Yield the containers that run as long as the pod, and whether each is a sidecar."""
    for container in object_items(spec.get("containers")):
        yield container, False
    for container in object_items(spec.get("initContainers")):
        if is_sidecar(container):
            yield container, True
