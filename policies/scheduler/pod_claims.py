"""The claims of an incoming pod, as the volume plugins sort them before any node is looked at.

Source: ``GetPodVolumeClaims``, ``pkg/scheduler/framework/plugins/volumebinding/binder.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

from policies.model.cluster_kinds import (
    ATTACHMENT,
    CLAIM,
    CSI_CAPACITY,
    CSI_DRIVER,
    CSI_NODE,
    LIST_NAMES,
    STORAGE_CLASS,
    STORAGE_LISTS,
    VOLUME,
    Kind,
)
from policies.model.pod import Pod
from policies.model.pod_volumes import NO_VOLUMES, ClaimVolume, CsiVolume
from policies.model.storage import Storage
from policies.model.storage_objects import PersistentVolumeClaim, StorageClass

#: The access mode of a claim that a single pod may use.
ONE_POD: Final = "ReadWriteOncePod"


def missing_claim(name: str) -> str:
    """Return the plugins' message for a missing claim."""
    return f'persistentvolumeclaim "{name}" not found'


class PodClaims:
    """The claims of a pod in the storage of a cluster.

    Attributes:
        volumes: How the pod uses each, with the claim; None where it is missing.
        storage: The storage.
        volumes_anywhere: The names of claims that are left out: they are made with the pod, and get a
            volume at once, which may be anywhere.
    """

    def __init__(self, pod: Pod, storage: Storage) -> None:
        self.storage = storage
        self._inline = pod.volumes.inline
        made = {claim.name: _with_class(claim, storage) for claim in pod.made_claims}
        found = ((volume, storage.claims.get(volume.name, volume.namespace)) for volume in pod.volumes.claims)
        self.volumes: list[tuple[ClaimVolume, PersistentVolumeClaim | None]] = [
            (volume, claim or made.get(volume.name)) for volume, claim in found
        ]
        # One that is made with the pod, and binds at once, gets a volume of which the place is unknown.
        self.volumes_anywhere = [
            claim.name
            for volume, claim in self.volumes
            if claim is not None and claim is made.get(volume.name) and not self._waits(claim)
        ]
        self.volumes = [entry for entry in self.volumes if entry[0].name not in self.volumes_anywhere]

    @cached_property
    def bound(self) -> list[PersistentVolumeClaim]:
        """The claims whose volume is bound for good."""
        return [claim for claim in self._found if claim.bound]

    @cached_property
    def delayed(self) -> list[PersistentVolumeClaim]:
        """The claims that get a volume where the pod goes."""
        return [claim for claim in self._found if not claim.bound and self._waits(claim)]

    @cached_property
    def immediate(self) -> list[PersistentVolumeClaim]:
        """The claims that must get a volume before the pod is scheduled."""
        return [claim for claim in self._found if not (claim.bound or self._waits(claim))]

    @cached_property
    def of_one_pod(self) -> frozenset[ClaimVolume]:
        """The claims that a single pod may use; those of ephemeral volumes do not count."""
        return frozenset(
            volume
            for volume, claim in self.volumes
            if claim is not None and not volume.ephemeral and ONE_POD in claim.shape.modes
        )

    @cached_property
    def attachable(self) -> frozenset[CsiVolume]:
        """The volumes that count towards the limits of CSI drivers."""
        volumes = (self.storage.csi_volume(claim) for claim in self._found)
        return frozenset(volume for volume in volumes if volume is not None) | frozenset(self._inline)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The lists of objects that decide where the pod may go and are not known: see ``LISTS``.

        Without them no plugin can decide about the claims.
        """
        uses = self.volumes or self.volumes_anywhere
        wanted: list[Kind] = [CLAIM, VOLUME, STORAGE_CLASS, CSI_NODE] if uses else []
        if self.delayed:
            wanted.append(CSI_DRIVER)
        classes = filter(None, map(self._class_of, self.delayed))
        if any(self.storage.reports_capacity(found.provisioner) for found in classes):
            wanted.append(CSI_CAPACITY)
        return tuple(LIST_NAMES[kind] for kind in wanted if not self.storage.knows(kind))

    @property
    def _found(self) -> list[PersistentVolumeClaim]:
        return [claim for _, claim in self.volumes if claim is not None]

    def _class_of(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        return self.storage.classes.get(claim.shape.storage_class)

    def _waits(self, claim: PersistentVolumeClaim) -> bool:
        found = self._class_of(claim)
        return found is not None and found.waits and not claim.volume


def with_known_claims(pod: Pod, storage: Storage) -> Pod:
    """Return a pod that names, of what is not modeled, those lists of storage that are not known."""
    if pod.volumes is NO_VOLUMES and not pod.unmodeled:
        return pod
    others = tuple(name for name in pod.unmodeled if name not in STORAGE_LISTS)
    claims = PodClaims(pod, storage)
    anywhere = (LIST_NAMES[CLAIM],) if claims.volumes_anywhere else ()
    # Nodes may have attached more than their pods use: without these, limits are met no later than is said.
    attached = (LIST_NAMES[ATTACHMENT],) if claims.attachable and storage.is_unread(ATTACHMENT) else ()
    return pod._replace(unmodeled=tuple(dict.fromkeys((*claims.unknown, *anywhere, *attached, *others))))


def with_claims(pod: Pod, name: str) -> Pod:
    """Return a replica of a StatefulSet with the claims that its controller gives it.

    Source: ``getPersistentVolumeClaims``, ``pkg/controller/statefulset/stateful_set_utils.go``, 1.36.

    Args:
        pod: A replica of any name; a pod without claim templates is returned as it is.
        name: The name of the replica.
    """
    if not pod.claim_templates:
        return pod
    made = tuple(
        template._replace(namespace=pod.namespace, name=f"{template.name}-{name}")
        for template in pod.claim_templates
    )
    # The pod as it was read has the claims of its name among its own.
    former = {f"{template.name}-{pod.name}" for template in pod.claim_templates}
    own = (claim for claim in pod.volumes.claims[len(pod.made_claims) :] if claim.name not in former)
    claims = (*(ClaimVolume(claim.namespace, claim.name) for claim in made), *own)
    return pod._replace(name=name, made_claims=made, volumes=pod.volumes._replace(claims=claims))


def _with_class(claim: PersistentVolumeClaim, storage: Storage) -> PersistentVolumeClaim:
    """Return a claim that is made now; if it names no class, it gets the default class."""
    if claim.shape.storage_class:
        return claim
    return claim.with_state(shape=claim.shape._replace(storage_class=storage.default_class()))
