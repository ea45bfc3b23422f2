"""The needs of a pod's containers besides resources: host ports, and images.

Source: ``GetHostPorts``, ``pkg/scheduler/util/utils.go``, and ``normalizedImageName``,
``pkg/scheduler/framework/plugins/imagelocality/image_locality.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from policies.manifests.fields import object_items
from policies.model.resources import is_sidecar

#: The address that means all of a node's.
EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104  # nothing listens on it here


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
