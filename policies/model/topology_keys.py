"""Node labels that people spread over: those with a new name, and names that no node has by itself."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from policies.model.labels import label_key_problems
from policies.model.spelling import is_misspelled
from policies.model.version import KubernetesVersion

#: The node label of zones.
ZONE = "topology.kubernetes.io/zone"
#: The node label of regions.
REGION = "topology.kubernetes.io/region"
#: The node label with the node's own name.
HOSTNAME = "kubernetes.io/hostname"
#: The node label of instance types.
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
#: What the labels of zones and regions were called before; volumes may still carry them.
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"

#: New names of labels that are deprecated since ``RENAMED_SINCE``: ``pkg/api/node/util.go``, Kubernetes 1.36.
RENAMED = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
    "beta.kubernetes.io/os": "kubernetes.io/os",
    BETA_REGION: REGION,
    BETA_ZONE: ZONE,
}
#: The first release whose nodes carry all the new names.
RENAMED_SINCE = KubernetesVersion(1, 17)
#: Names as people write them, short or put together of two others, and what was meant. Labels below
#: ``kubernetes.io`` are Kubernetes' own, which has none of these.
MISNAMED = {
    "failure-domain.kubernetes.io/region": REGION,
    "failure-domain.kubernetes.io/zone": ZONE,
    "host": HOSTNAME,
    "hostname": HOSTNAME,
    "kubernetes.io/host": HOSTNAME,
    "kubernetes.io/region": REGION,
    "kubernetes.io/zone": ZONE,
    "node": HOSTNAME,
    "node.kubernetes.io/hostname": HOSTNAME,
    "region": REGION,
    "topology.kubernetes.io/host": HOSTNAME,
    "topology.kubernetes.io/hostname": HOSTNAME,
    "topology.kubernetes.io/node": HOSTNAME,
    "zone": ZONE,
}
#: The labels that Kubernetes and the cloud providers set on nodes, and people spread over.
SET_BY_KUBERNETES = frozenset({ZONE, REGION, HOSTNAME})
#: How similar two keys must be to be taken for one (``difflib``): all but one letter of ten.
_SIMILAR = 0.85
#: Labels of nodes that a key is compared with letter by letter.
_COMPARED = 500
#: What the domains of a key are called, with the article; the old names mean the same.
_NOUNS = {HOSTNAME: "a node", ZONE: "a zone", REGION: "a region"}


def domain_noun(key: str) -> str:
    """Return the noun for one domain of a topology key.

    >>> domain_noun("kubernetes.io/hostname"), domain_noun("example.com/rack")
    ('a node', 'a domain of example.com/rack')
    """
    meant = RENAMED.get(key) or MISNAMED.get(key) or key
    return _NOUNS.get(meant, f"a domain of {key}")


def meant_key(key: str) -> str | None:
    """Return the node label that a topology key is a mistake for; None if it may be one of the cluster's own.

    >>> meant_key("zone"), meant_key("topology.kubernetes.io/Zone"), meant_key("topology.kubernetes.io/rack")
    ('topology.kubernetes.io/zone', 'topology.kubernetes.io/zone', None)
    """
    prefix, _, name = key.rpartition("/")
    if key in SET_BY_KUBERNETES or prefix not in {own.rpartition("/")[0] for own in SET_BY_KUBERNETES}:
        return MISNAMED.get(key)
    # Administrators set other labels below these reserved prefixes: only a slip of the pen counts.
    word = name.lower()
    slips = (
        own for own in SET_BY_KUBERNETES if _last_word(own) == word or is_misspelled(word, of=_last_word(own))
    )
    return MISNAMED.get(key) or next(slips, None)


def is_mistaken(key: str) -> bool:
    """Return whether a topology key is a mistake unless administrators set that very label.

    >>> is_mistaken("zone"), is_mistaken("a b"), is_mistaken("rack"), is_mistaken("")
    (True, True, False, False)
    """
    # The API server itself refuses an empty key.
    return bool(key) and (meant_key(key) is not None or bool(label_key_problems(key)))


def similar_keys(key: str, carried: Collection[str]) -> list[str]:
    """Return the labels of nodes for which a topology key may be a mistake, the likeliest first, at most two.

    Args:
        key: The key as it is written.
        carried: The labels that nodes have.

    >>> similar_keys("topology.kubernetes.io/zones", ["topology.kubernetes.io/zone", "zone-id"])
    ['topology.kubernetes.io/zone']
    >>> similar_keys("rack", ["example.com/Rack", "arch"])
    ['example.com/Rack']
    """
    known = filter(None, (RENAMED.get(key), MISNAMED.get(key)))
    word = _last_word(key)
    same_word = sorted(other for other in carried if _last_word(other) == word)
    # Comparing letters is slow: with a bounded number of labels, each of bounded length, some milliseconds.
    close = get_close_matches(key, sorted(carried)[:_COMPARED], n=1, cutoff=_SIMILAR)
    found = dict.fromkeys((*known, *same_word, *close))
    return [other for other in found if other in carried and other != key and other not in RENAMED][:2]


def _last_word(key: str) -> str:
    return key.rpartition("/")[2].lower()
