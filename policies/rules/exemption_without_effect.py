"""An exemption that exempts from nothing.

## What it finds
A line of the annotation `evenkeel.dev/ignore` that names a rule which does not exist, gives no reason, or
whose last day is over or is no date; or that names a rule which a policy denies for, and from which it lets
no annotation exempt.

## Why it matters
The rule stays in force, or comes back in force, though somebody has written that it should not be: either the
mistake was meant to be fixed by then, or the exemption was mistyped, or it is not for whoever writes the
object to grant.

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
Write `rule-id: why`, or `rule-id: why (until 2027-01-31)`, one rule a line; or delete the line.
Where a policy lets no annotation exempt, whoever keeps the policy can write an exception into it.
"""

from __future__ import annotations

from policies.manifests.findings import Severity
from policies.rules.base import Subject

SEVERITY = Severity.WARNING
SEE = "https://docs.astral.sh/ruff/rules/unused-noqa/"
SUBJECT = Subject.FILE
