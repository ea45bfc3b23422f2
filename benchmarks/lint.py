"""The linter: a cold run on one file, and long streams, with and without findings, beside PyYAML."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import yaml

#: Documents of the long stream: the project's aim names them.
DOCUMENTS = 10_000
#: Runs of each kind; the two alternate, so that both meet the same noise. Arbitrary.
RUNS = 5
#: Times PyYAML's loading that a run may take, both in processor time.
AIM_RATIO = 1.3
#: Seconds of processor time that a cold run on one file may take: the project's aim.
AIM_COLD_S = 0.35

#: A Deployment as people write them: 700 bytes, without findings.
_DEPLOYMENT = """\
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: service-{number}
  namespace: team-{team}
  labels:
    app.kubernetes.io/name: service-{number}
spec:
  replicas: {replicas}
  selector:
    matchLabels:
      app.kubernetes.io/name: service-{number}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: service-{number}
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector:
            matchLabels:
              app.kubernetes.io/name: service-{number}
          matchLabelKeys: [pod-template-hash]
      containers:
        - name: web
          image: registry.example.com/service-{number}:1.2.3
"""


def stream(documents: int) -> str:
    """Return a stream of Deployments."""
    return "".join(
        _DEPLOYMENT.format(number=number, team=number % 20, replicas=3 + number % 7)
        for number in range(documents)
    )


def _program() -> str:
    return shutil.which("evenkeel", path=str(Path(sys.executable).parent)) or "evenkeel"


def _lint_s(file: Path) -> float:
    """Return the seconds that a run takes, its start and end included."""
    command = [_program(), "lint", "--config", "none", "--fail-on", "never", str(file)]
    return _seconds(lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True))


def _load_s(text: str) -> float:
    """Return the seconds that PyYAML's C loader takes, in this process."""

    def load() -> None:
        for _ in yaml.load_all(text, yaml.CSafeLoader):
            pass

    return _seconds(load)


def _seconds(function: Callable[[], object]) -> float:
    """Return the processor time of a call and of what it runs, which other load hardly moves."""
    started = sum(os.times()[:4])
    function()
    return sum(os.times()[:4]) - started


def run() -> None:
    """Print the median of a cold run, and of a long one as a ratio to loading."""
    with tempfile.TemporaryDirectory() as folder:
        one, many, bad = (Path(folder, f"{name}.yaml") for name in ("one", "many", "bad"))
        one.write_text(stream(1))
        text = stream(DOCUMENTS)
        many.write_text(text)
        bad.write_text(text.replace("maxSkew: 1", "maxSkew: 0"))
        _lint_s(one)
        cold = statistics.median(_lint_s(one) for _ in range(2 * RUNS))
        rounds = [(_lint_s(many), _lint_s(bad), _load_s(text)) for _ in range(RUNS)]
    ratio = statistics.median(lint / load for lint, _, load in rounds)
    lint, found, load = (statistics.median(each) for each in zip(*rounds, strict=True))
    print(f"evenkeel lint, cold, 1 file: {cold:.2f} s (aim: at most {AIM_COLD_S} s, processor time)")
    print(
        f"evenkeel lint, {DOCUMENTS:,} Deployments, {len(text) / 1e6:.1f} MB: {lint:.2f} s, "
        f"{ratio:.2f} times PyYAML's C loader, {load:.2f} s (aim: at most {AIM_RATIO})"
    )
    print(f"evenkeel lint, the same with a finding each: {found:.2f} s, {found / lint:.2f} times as long")


if __name__ == "__main__":
    run()
