"""A file, or a document in it, that cannot be read.

## What it finds
A file that cannot be opened, text that is neither YAML nor JSON, or a document with two possible readings.
Nothing in that file is checked; the other files are.

## Why it matters
kubectl would reject the file, or apply something else than its author reads. A linter that ignores it would
report success for something that was not checked.

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
Correct what the message names, or leave the file out with `exclude` in `evenkeel.yaml` if it is
broken on purpose, as for a test, or no manifest.
"""

from __future__ import annotations

from policies.manifests.findings import Severity
from policies.rules.base import RuleTarget

ID = "unreadable"
SEVERITY = Severity.ERROR
SEE = "https://kubernetes.io/docs/concepts/configuration/overview/#general-configuration-tips"
TARGET = RuleTarget.FILE
