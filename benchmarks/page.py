"""The page of a large cluster: its map, the first part of its audit, and the answer to a change.

Wall time, beside reading the cluster: that is what a person waits for once.
"""

from __future__ import annotations

import gzip
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from benchmarks.clusters import USUAL, write_list
from webhook.cli.placement_options import PlacementOptions
from webhook.cli.ui_cluster import read_page_cluster
from webhook.ui.bodies import ManifestBody
from webhook.ui.placing import explain, score
from webhook.ui.readings import PageState
from webhook.ui.workload_detail import find_object, workload_detail

#: The project's aim for the map, in seconds after the cluster was read.
AIM_S: Final = 0.5

_Found = TypeVar("_Found")


def run() -> None:
    """Print what the answers take."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "cluster.json"
        with file.open("wb") as opened:
            write_list(USUAL, opened)
        reading, cluster = _timed(lambda: read_page_cluster(PlacementOptions(cluster=str(file))))
    mapping, state = _timed(lambda: PageState.of(cluster))
    packing, packed = _timed(lambda: gzip.compress(state.map, 5))
    print(f"Page, {USUAL.nodes:,} nodes, {USUAL.pods:,} pods:")
    print(f"  read the cluster                {reading:6.2f} s")
    print(f"  map of every pod                {mapping + packing:6.2f} s (aim {AIM_S:g}), "
          f"{len(state.map) / 1e6:.1f} MB, {len(packed) / 1e6:.2f} MB with gzip")  # fmt: skip
    try:
        state.audit.start()
        first, _ = _timed(lambda: _wait(state))
        print(f"  first part of the audit         {first:6.2f} s")
        ref = cluster.workloads[0]
        found = find_object(cluster, ref)
        opening, detail = _timed(partial(state.children.run, partial(workload_detail, cluster, ref, found)))
        print(f"  open a workload                 {opening:6.2f} s")
        body = ManifestBody(manifest=json.loads(detail)["manifest"])
        for title, compute in (("explain an edited manifest", explain), ("score it on every node", score)):
            taken, _ = _timed(partial(state.children.run, partial(compute, cluster, body)))
            print(f"  {title:<32}{taken:6.2f} s")
    finally:
        state.end()


def _wait(state: PageState) -> None:
    while not state.audit.progress(0).workloads:
        time.sleep(0.01)


def _timed(work: Callable[[], _Found]) -> tuple[float, _Found]:
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


if __name__ == "__main__":
    run()
