"""An exemption that exempts from nothing.

## What it finds
A line of the annotation `evenkeel.dev/ignore` that names a rule which does not exist, gives no reason, or
whose last day is over or not a date; or that names a rule which a policy denies for, without allowing
exemptions by annotation.

## Why it matters
The rule applies although the annotation says otherwise: the mistake should have been fixed by that day, the
exemption is mistyped, or authors of the object may not exempt it.

## Fails
```yaml
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {evenkeel.dev/ignore: "single-domain"}}
spec: {containers: [{name: web, image: web}]}
```
```yaml
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {evenkeel.dev/ignore: "one-domain: there is only one"}}
spec: {containers: [{name: web, image: web}]}
```

## Passes
```yaml
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {evenkeel.dev/ignore: "single-domain: the second zone opens later"}}
spec: {containers: [{name: web, image: web}]}
```

## How to fix
Write `rule-id: why`, or `rule-id: why (until 2027-01-31)`, one rule a line; or delete the line. If a policy
does not allow exemptions by annotation, its author can add an exception.
"""

from __future__ import annotations

from policies.manifests.findings import Severity
from policies.rules.base import RuleTarget

ID = "exemption-without-effect"
SEVERITY = Severity.WARNING
SEE = "https://docs.astral.sh/ruff/rules/unused-noqa/"
TARGET = RuleTarget.FILE
