"""The real kubectl, with a home, a cache and credentials of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.waiting import PATIENCE_S

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """The outcome of a command."""

    code: int
    out: str
    err: str

    @property
    def warnings(self) -> list[str]:
        """The warnings of the API server that kubectl printed."""
        return re.findall(r"^Warning: (.*)$", self.err, re.MULTILINE)


class Kubectl:
    """Runs kubectl as one user."""

    def __init__(self, binary: str, folder: Path, *, server: str, authority: Path, token: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.kubeconfig = folder / "kubeconfig"
        self.server = server
        self.authority = authority
        self.token = token
        self._binary = binary
        self._environment = {
            "HOME": str(folder),
            "KUBECONFIG": str(self.kubeconfig),
            # `kubectl diff` runs diff.
            "PATH": os.environ.get("PATH", ""),
        }
        self.write_kubeconfig("default")

    def write_kubeconfig(self, namespace: str) -> None:
        """Describe the cluster and the user, with a namespace that is the context's."""
        context = {"cluster": "e2e", "user": "e2e", "namespace": namespace}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "e2e",
                    "cluster": {"server": self.server, "certificate-authority": str(self.authority)},
                }
            ],
            "users": [{"name": "e2e", "user": {"token": self.token}}],
            "contexts": [{"name": "e2e", "context": context}],
            "current-context": "e2e",
        }
        self.kubeconfig.write_text(yaml.safe_dump(config))
        self.kubeconfig.chmod(0o600)

    def __call__(self, *arguments: str, stdin: str | Manifest | list[Manifest] | None = None) -> Told:
        """Run a command, whatever comes of it."""
        if isinstance(stdin, list):
            stdin = {"apiVersion": "v1", "kind": "List", "items": stdin}
        if isinstance(stdin, dict):
            stdin = json.dumps(stdin)
        done = subprocess.run(
            [self._binary, *arguments],
            input=stdin or "",
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return Told(done.returncode, done.stdout, done.stderr)

    def do(self, *arguments: str, stdin: str | Manifest | list[Manifest] | None = None) -> str:
        """Run a command that must succeed, and return what it printed."""
        told = self(*arguments, stdin=stdin)
        assert 0 == told.code, f"kubectl {' '.join(arguments)}: {told.err}"
        return told.out

    def get(self, *arguments: str) -> Any:
        """Return objects as the API server has them."""
        return json.loads(self.do("get", *arguments, "-o", "json"))
