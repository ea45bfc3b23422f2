"""The page as a file: views that a person saves, and what a browser would ask about a cluster of a command.

Of a view the browser has the answers that it shows, for which there is a place in the file. Of a command the
answers are recorded beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Final, TypedDict
from urllib.parse import quote

import orjson

from planning.audit.workload_audit import WorkloadAudit
from planning.simulation.events import TargetWorkload
from policies.manifests.wire import dumps
from policies.manifests.words import plural
from policies.model.snapshot import without_secrets
from policies.model.workload_ref import WorkloadRef
from webhook.ui import embedded
from webhook.ui.background_audit import MOST_SENT, AuditProgress, audited_entry
from webhook.ui.bodies import ShownBody
from webhook.ui.cluster import PageCluster
from webhook.ui.cluster_map import cluster_map, moment
from webhook.ui.embedded import MOST_BYTES
from webhook.ui.lookups import node_detail
from webhook.ui.manifest import ProblemsError
from webhook.ui.pending import pending
from webhook.ui.what_if import WhatIfBody, what_if
from webhook.ui.workload_detail import FoundObject, find_object, workload_detail

#: Nodes that are evaluated for workloads that open in the file: an explanation takes 40 µs for each of many.
_MOST_EVALUATED: Final = 250_000
#: Workloads that open in the file however many nodes there are.
_LEAST_OPEN: Final = 10
#: Bytes for what the file names besides answers.
_SPARE_BYTES: Final = 1 << 20
#: What shows more than a file.
_OPEN_PAGE: Final = "evenkeel ui shows it."
_WITHOUT: Final = "what its containers are started with, such as their environment, is left out of this file"


class Recording:
    """The answers of the page's API about one cluster, as far as a file may hold them.

    Attributes:
        cluster: The cluster.
        withheld: What the file does not have, a sentence each.
    """

    def __init__(self, cluster: PageCluster, withheld: Iterable[str] = ()) -> None:
        """Record the map; what the command leaves out is said first."""
        self.cluster = cluster
        self.withheld = list(withheld)
        self._answers: dict[str, orjson.Fragment] = {}
        self._left = MOST_BYTES - _SPARE_BYTES
        self._record("/api/cluster", dumps(cluster_map(cluster)))

    def audit(self, audits: Sequence[WorkloadAudit], *, left: int, total: int, whole: bool) -> None:
        """Record an audit.

        Args:
            audits: The workloads.
            left: How many objects were not looked at, because the work was ended.
            total: How many objects there are.
            whole: Whether all workloads of the cluster were to be audited.
        """
        workloads = [orjson.Fragment(audited_entry(self.cluster, found)) for found in audits]
        answer = AuditProgress(
            done=True,
            error=f"{plural(left, 'object')} of {total:,} not looked at" if left else "",
            audited=total - left,
            total=total,
            next=len(workloads),
            unaudited=len(self.cluster.workloads) - len(workloads) if whole else 0,
            workloads=workloads,
        )
        if not self._record("/api/workloads?after=0", dumps(answer)):
            self.withheld.append("The audit, which is too large for a file: evenkeel audit prints it.")

    def details(self, first: Iterable[WorkloadRef], advance: Callable[[float], None]) -> None:
        """Record what else opens: pending pods, nodes, and workloads, those of most interest first.

        Args:
            first: The workloads that are recorded, by interest, as far as they may be.
            advance: Called with the share that is done.
        """
        self._record("/api/pending", pending(self.cluster))
        names = self.cluster.index.nodes.names()
        for name in islice(names, MOST_SENT):
            self._record(f"/api/node?{_query(name=name)}", node_detail(self.cluster, name))
        if len(names) > MOST_SENT:
            self.withheld.append(f"What is on {plural(len(names) - MOST_SENT, 'node')}: {_OPEN_PAGE}")
        most = min(MOST_SENT, max(_LEAST_OPEN, _MOST_EVALUATED // max(len(names), 1)))
        refs = list(dict.fromkeys(first))
        opened = 0
        for number, ref in enumerate(refs[:most]):
            opened += self._workload(ref)
            advance((number + 1) / min(most, len(refs)))
        if opened < len(refs):
            left = plural(len(refs) - opened, "workload")
            self.withheld.append(f"What is known of the next pod of {left}: {_OPEN_PAGE}")

    def document(self, fragment: str) -> bytes:
        """Return what the file holds, JSON: the recording, and the view that it opens at."""
        saved = {"fragment": fragment, "withheld": self.withheld, "answers": self._answers}
        return orjson.dumps(saved)

    def _workload(self, ref: WorkloadRef) -> bool:
        try:
            obj, notes = find_object(self.cluster, ref)
            # A file is sent around, as a snapshot is.
            kept = FoundObject(without_secrets(obj), [*notes, _WITHOUT])
            found = workload_detail(self.cluster, ref, kept)
        except ProblemsError:
            # Its object cannot be shown, as on the page.
            return False
        query = _query(kind=ref.kind, namespace=ref.namespace, name=ref.name)
        self._played(ref)
        return self._record(f"/api/workload?{query}", found)

    def _played(self, ref: WorkloadRef) -> None:
        """Record what becomes of a workload if nothing happens, as its page asks for it."""
        target = TargetWorkload(kind=ref.kind, namespace=ref.namespace, name=ref.name)
        names = {"kind": ref.kind, "namespace": ref.namespace, "name": ref.name}
        asked = orjson.dumps({"events": [], "workloads": [names]}).decode()
        answer = what_if(self.cluster, WhatIfBody(events=[], workloads=[target]))
        self._record(f"/api/what-if {asked}", answer)

    def _record(self, request: str, answer: bytes) -> bool:
        """Keep an answer if there is room; return whether there was."""
        if (size := len(answer) + len(request)) > self._left:
            return False
        self._left -= size
        self._answers[request] = orjson.Fragment(answer)
        return True


def _query(**names: str) -> str:
    """Return names as ``URLSearchParams`` of a browser writes them."""
    return "&".join(f"{name}={_form(value)}" for name, value in names.items())


def _form(value: str) -> str:
    """Return a value as a browser's form has it.

    >>> _form("a b~c*d/ü")
    'a+b%7Ec*d%2F%C3%BC'
    """
    return quote(value, safe=" *").replace("~", "%7E").replace(" ", "+")


def list_view() -> str:
    """Return the address of the list of workloads within the page."""
    return "#/workloads"


class SavedReport(TypedDict):
    """A view of the page in one file."""

    html: str  #: The file, with a mark where the answers go that the view shows.


def shown(cluster: PageCluster, body: ShownBody) -> bytes:
    """Return the file of a view of the cluster, without the answers that the browser has."""
    return _file(cluster, title=body.title, action=body.action, verdict=body.verdict, command=body.command)


def _file(cluster: PageCluster, *, title: str, action: str, verdict: str, command: str) -> bytes:
    about: embedded.ReportAbout = {
        "title": title,
        "action": action,
        "verdict": verdict,
        "cluster": cluster.name or "live cluster",
        "readAt": moment(cluster.read_at),
        "writtenAt": moment(datetime.now(UTC)),
        "command": command,
    }
    document = orjson.dumps(embedded.RECORDING)
    return orjson.dumps(SavedReport(html=embedded.report_page("page", document, about)))
