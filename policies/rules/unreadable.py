"""A file, or a document of it, that cannot be read.

## What it finds
A file that cannot be opened, text that is neither YAML nor JSON, or a document that could be read in two
ways. Nothing in that file is judged; the other files are.

## Why it matters
kubectl would refuse the file, or apply something else than its author reads. A linter that passes over it in
silence would call green what nobody has looked at.

## Fails
```yaml
apiVersion: v1
kind: Pod
metadata: {name: web
```

## Passes
```yaml
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: web, image: web}]}
```

## How to fix
Correct the line that the message names. A file that is no manifest is left out with `exclude` in
`evenkeel.yaml`.
"""

from __future__ import annotations

from policies.manifests.findings import Severity
from policies.rules.base import Subject

SEVERITY = Severity.ERROR
SEE = "https://kubernetes.io/docs/concepts/configuration/overview/#general-configuration-tips"
SUBJECT = Subject.FILE
