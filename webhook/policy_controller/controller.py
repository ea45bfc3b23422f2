"""Puts the policies of files and of the cluster into force, all at once, whenever either changes.

A reflector keeps the SpreadPolicy objects of the cluster: what is known of each, by name. Each worker process
has a controller of its own, so a change is in force everywhere once each has its watch event. Changes that
come together make one set: 1,000 policies that change at once are put into force a few times, not 1,000
times.

The policies of files are loaded again when a file changes; a change with errors leaves the last good ones. A
mounted ConfigMap changes by a symbolic link that is replaced, so what a path leads to is compared, not the
path. Files that change while they are read are read again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from policies.config.policy_resource import PolicyResource, read_policy_resource, summary_of
from policies.config.policy_set import PolicySet
from policies.config.spread_policy import BUILTIN_PREFIX, CRD_NAME, KIND, SpreadPolicy
from policies.manifests.errors import EvenkeelError
from policies.manifests.fields import FieldError
from policies.manifests.file_name import STDIN
from policies.model.snapshot import identity
from webhook.component import Component
from webhook.kube.kind_record import left_out_warning
from webhook.kube.reflector import REFUSED_S, Reflector
from webhook.telemetry.logs import LOGGER, ProblemLog

if TYPE_CHECKING:
    from webhook.telemetry.metrics import Telemetry

#: By what a change of a file is noticed: device, inode, size and time; None for one that is not there.
_Stamp = tuple[int, int, int, int] | None
#: Seconds between two looks at the files: a mounted ConfigMap changes a minute late anyway.
LOOK_EVERY_S: Final = 0.5
#: Seconds for which further changes are waited for. Much less than a change may take to be in force.
COALESCE_S: Final = 0.1
#: Seconds for a thread to end.
_STOP_S: Final = 1.0
#: Names that a log line lists.
_LISTED: Final = 20


class PolicyFiles:
    """The files of one server. For one thread.

    Attributes:
        policies: Those in force.
        problem: Why what the files hold now is not in force; empty if it is.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        policies: tuple[SpreadPolicy, ...],
        load: Callable[[], tuple[SpreadPolicy, ...]],
    ) -> None:
        """Nothing is read yet.

        Args:
            names: The files, and ``builtin:NAME`` or ``-``, which never change.
            policies: What they held at the start.
            load: Reads all of them; raises EvenkeelError or OSError.
        """
        self.policies = policies
        self.problem = ""
        self._paths = tuple(
            Path(name) for name in names if name != STDIN and not name.startswith(BUILTIN_PREFIX)
        )
        # Standard input cannot be read again.
        self._fixed = STDIN in names or not self._paths
        self._load = load
        self._seen = () if self._fixed else self._stamps()

    def refresh(self) -> bool:
        """Load the files if they have changed; return whether policies or the problem are others then."""
        if self._fixed or (stamps := self._stamps()) == self._seen:
            return False
        before = self.policies, self.problem
        try:
            policies = self._load()
        except EvenkeelError as error:
            problem = str(error).replace("\n", "; ")
        except OSError as error:
            problem = f"{error.filename}: {error.strerror}"
        else:
            problem = ""
        if self._stamps() != stamps:
            return False  # A writer is between two files: the next look reads them whole.
        self._seen = stamps
        self.problem = problem
        if not problem:
            self.policies = policies
        return before != (self.policies, self.problem)

    def _stamps(self) -> tuple[_Stamp, ...]:
        return tuple(map(_stamp, self._paths))


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class PolicyResources:
    """The objects of one process. One thread writes, any number read."""

    def __init__(self, changed: Callable[[], None], *, has_scheduler_config: bool) -> None:
        """Start without any.

        Args:
            changed: Called after each change, by the thread that made it.
            has_scheduler_config: Whether defaults may be taken from the scheduler's configuration.
        """
        self._changed = changed
        self._has_scheduler_config = has_scheduler_config
        self._lock = threading.Lock()
        self._resources: dict[str, PolicyResource] = {}

    def apply(self, obj: Mapping[str, Any]) -> list[FieldError]:
        """Add an object, or replace the one of its name; one with errors is kept too, but not in force."""
        _, name = identity(dict(obj))
        if not name:
            return []
        # The only writer reads without the lock: checking a document takes milliseconds.
        before = self._resources.get(name)
        found = read_policy_resource(obj, before, has_scheduler_config=self._has_scheduler_config)
        with self._lock:
            self._resources[name] = found
        self._changed()
        return []

    def remove(self, _api_version: str, _kind: str, _namespace: str, name: str) -> None:
        """Remove an object; one that is not there is passed over."""
        with self._lock:
            self._resources.pop(name, None)
        self._changed()

    def names(self, _kind: tuple[str, str]) -> set[tuple[str, str]]:
        """Return the names of the objects, with the namespace that they do not have."""
        with self._lock:
            return {("", name) for name in self._resources}

    def count(self, _kind: tuple[str, str]) -> int:
        """Return how many objects there are."""
        return len(self._resources)

    def listed(self) -> list[PolicyResource]:
        """Return the objects by name, as kubectl lists them."""
        with self._lock:
            return [resource for _, resource in sorted(self._resources.items())]


def policies_of(resources: list[PolicyResource]) -> tuple[SpreadPolicy, ...]:
    """Return the policies in force, in the order of the objects."""
    return tuple(resource.accepted.policy for resource in resources if resource.accepted is not None)


class PolicyController(Component):
    """The policies of one server process, from ``start`` to ``stop``, once.

    Attributes:
        files: The policies of files.
        resources: Those of the cluster; None if none is followed.
    """

    def __init__(
        self,
        files: PolicyFiles,
        *,
        default: tuple[SpreadPolicy, ...],
        enforce: Callable[[PolicySet], None],
    ) -> None:
        """Nothing is read and no thread is started yet.

        Args:
            files: The policies of files.
            default: What is in force while files and cluster have no policy.
            enforce: Puts policies into force.
        """
        self.files = files
        self.resources: PolicyResources | None = None
        self._default = default
        self._enforce = enforce
        self._reflector: Reflector | None = None
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        # Those that the server began with are in its first line.
        self._at_start = files.policies or default
        self._in_force: PolicySet | None = None
        self._problems = ProblemLog()

    def watch(self, resources: PolicyResources, reflector: Reflector) -> None:
        """Have the policies of a cluster followed, too; before ``start``."""
        self.resources, self._reflector = resources, reflector

    def start(self) -> None:
        """Begin to follow files and cluster; after a fork, for threads are not inherited."""
        self._thread = threading.Thread(target=self._run, name="policies", daemon=True)
        self._thread.start()
        if self._reflector is not None:
            self._reflector.start()

    def stop(self) -> None:
        """End the threads; the policies stay in force."""
        self._stopping.set()
        self._wake.set()
        if self._reflector is not None:
            self._reflector.stop()
            self._reflector.join(_STOP_S)
        if self._thread is not None:
            self._thread.join(_STOP_S)

    def changed(self) -> None:
        """Note that a policy of the cluster has changed."""
        self._wake.set()

    def unsynced(self) -> str:
        """Return that the policies of the cluster may be in force soon and are not yet, else nothing."""
        waits = self._reflector is not None and (self._listing or self._in_force is None)
        return "the policies of the cluster are not listed yet" if waits else ""

    @property
    def _listing(self) -> bool:
        """Whether the policies of the cluster are not listed yet, but may be soon."""
        reflector = self._reflector
        if reflector is None or reflector.record.synced:
            return False
        return not self._missing and reflector.refused_s() <= REFUSED_S

    @property
    def _missing(self) -> bool:
        """Whether the API server does not know SpreadPolicy objects."""
        return self._reflector is not None and self._reflector.refused_status == HTTPStatus.NOT_FOUND

    def with_policy(self, policy: SpreadPolicy) -> tuple[SpreadPolicy, ...]:
        """Return the policies that would be in force with a policy of the cluster added or changed."""
        listed = self.resources.listed() if self.resources is not None else []
        of_cluster = {found.name: found for found in policies_of(listed)} | {policy.name: policy}
        return (*self.files.policies, *(found for _, found in sorted(of_cluster.items())))

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return how many policies are in force and how many have errors, by where they come from."""
        found = {"file": (len(self.files.policies), int(bool(self.files.problem)))}
        if self.resources is not None:
            listed = self.resources.listed()
            found["cluster"] = (len(policies_of(listed)), sum(bool(entry.errors) for entry in listed))
        return found

    def observe(self, telemetry: Telemetry) -> None:
        """Report the number of policies as metrics."""
        telemetry.policies.update(self.counts())

    def warnings(self) -> list[str]:
        """Return which policies are not in force as they are written, and why."""
        return list(self._warnings())

    def _warnings(self) -> Iterator[str]:
        if self.files.problem:
            yield f"policy files have errors, the last good version stays in force: {self.files.problem}"
        if self._reflector is None or self.resources is None:
            return
        if self._missing:
            yield f"CustomResourceDefinition {CRD_NAME} is not installed: only policies of files are in force"
        elif self._reflector.refused_s() > REFUSED_S:
            refusal = f"the API server refuses to list or watch {self._reflector.record.title}"
            yield f"policies of the cluster are not current: {refusal}"
        if left_out := self._reflector.record.left_out:
            yield f"{left_out_warning(left_out)}; the last good version stays in force"
        for entry in self.resources.listed():
            if entry.errors:
                yield f"{KIND} {entry.name}: {_problem(entry)}"

    def _run(self) -> None:
        while not self._stopping.is_set():
            if self._wake.wait(LOOK_EVERY_S):
                self._stopping.wait(COALESCE_S)
            self._wake.clear()
            try:
                self.refresh()
            except Exception as error:  # noqa: BLE001  # nothing would start this thread again
                LOGGER.error("policies_failed", exc_info=error)

    def refresh(self) -> None:
        """Put the policies into force if they are not those that already are."""
        self.files.refresh()
        listed = self.resources.listed() if self.resources is not None else []
        self._report_problems(listed)
        if self._listing and self._in_force is None:
            # Half a list is no set of policies; what was there at the start stays.
            return
        found = (*self.files.policies, *policies_of(listed)) or self._default
        if found == self._in_force:
            return
        policies = PolicySet(found)
        self._enforce(policies)
        before, self._in_force = self._in_force, policies
        if policies != (self._at_start if before is None else before):
            names = [policy.name for policy in policies]
            fields = {"count": len(names), "policies": ",".join(names[:_LISTED])}
            LOGGER.info("policies_in_force", extra={"fields": fields})

    def _report_problems(self, listed: list[PolicyResource]) -> None:
        """Log what keeps policies from being in force, when it begins, changes and ends."""
        found = {f"{KIND} {entry.name}": _problem(entry) for entry in listed if entry.errors}
        if self.files.problem:
            found["files"] = self.files.problem
        self._problems.report_all("policy_invalid", found)
        missing = f"CustomResourceDefinition {CRD_NAME} is not installed" if self._missing else ""
        self._problems.report("policy_definition_missing", missing)


def _problem(resource: PolicyResource) -> str:
    return f"{resource.fallback}: {summary_of(resource.errors)}"
