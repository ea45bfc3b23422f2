"""Constraints that are too large to be checked.

## What it finds
A list of `topologySpreadConstraints` with more than 2000 entries on all its levels: constraints, their
fields, requirements, values, and every 256 characters of text count as one.

## Why it matters
Everyone whose request arrives at that moment waits for the webhook. So the list is not read, and no other
rule runs on it.

## Fails
```yaml
labelSelector:
  matchExpressions: [
    &one {
      key: app,
      operator: NotIn,
      values: [
        v10, v11, v12, v13, v14, v15, v16, v17, v18, v19, v20, v21, v22, v23, v24, v25, v26,
        v27, v28, v29, v30, v31, v32, v33, v34, v35, v36, v37, v38, v39, v40, v41, v42, v43,
        v44, v45, v46, v47, v48, v49, v50, v51, v52, v53, v54, v55, v56, v57, v58, v59
      ],
    },
    *one, *one, *one, *one, *one, *one, *one, *one, *one, *one, *one, *one, *one, *one, *one,
    *one, *one, *one, *one, *one, *one, *one, *one, *one, *one, *one, *one, *one, *one, *one,
    *one, *one, *one, *one, *one, *one, *one, *one, *one
  ]
```

## Passes
```yaml
labelSelector:
  matchExpressions: [{key: app, operator: NotIn, values: [v10, v11, v12]}]
```

## How to fix
Select the pods by a label of their own instead of by a list of values.
"""

from policies.model.api_rules import ApiRule

ID = ApiRule.TOO_LARGE_TO_CHECK
SEE = "https://kubernetes.io/docs/concepts/cluster-administration/admission-webhooks-good-practices/"
