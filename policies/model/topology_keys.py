"""Node labels that people spread over: new names, names that no node has by itself, and slips of the pen."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches
from typing import Final

from policies.model.labels import label_key_problems
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
#: What separates the words of a name.
_SEPARATORS: Final = re.compile("[-_./]")
#: Letters of the shortest word that is recognized with a slip: ``db`` and ``dba`` may both be meant.
_SHORTEST: Final = 4


def domain_noun(key: str) -> str:
    """Return the noun for one domain of a topology key.

    >>> domain_noun("kubernetes.io/hostname"), domain_noun("example.com/rack")
    ('a node', 'a domain of example.com/rack')
    """
    meant = RENAMED.get(key) or MISNAMED.get(key) or key
    return _NOUNS.get(meant, f"a domain of {key}")


def domain_word(key: str) -> str:
    """Return what one domain of a topology key is called beside its value.

    >>> domain_word("kubernetes.io/hostname"), domain_word(ZONE), domain_word("example.com/rack")
    ('node', 'zone', 'rack')
    """
    return "node" if key == HOSTNAME else key.rpartition("/")[2]


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


def is_misspelled(name: str, *, of: str) -> bool:
    """Return whether a name is another one but for one letter, or one separator.

    Numbers and letters that stand alone are no slips: ``shop-a`` and ``shop-b`` are two.

    >>> is_misspelled("emailservicex", of="emailservice"), is_misspelled("email-service", of="emailservice")
    (True, True)
    >>> is_misspelled("shop-b", of="shop-a"), is_misspelled("web2", of="web1")
    (False, False)
    """
    if name == of or abs(len(name) - len(of)) > 1:
        return False
    words, meant = _SEPARATORS.split(name), _SEPARATORS.split(of)
    if len(words) != len(meant):
        joined = "".join(words)
        return len(joined) >= _SHORTEST and joined == "".join(meant)
    differing = [pair for pair in zip(words, meant, strict=True) if pair[0] != pair[1]]
    return len(differing) == 1 and max(map(len, differing[0])) >= _SHORTEST and _is_slip(*differing[0])


def _is_slip(word: str, meant: str) -> bool:
    """Return whether a word is another one but for a letter; for words that differ."""
    start = next(
        (n for n, (a, b) in enumerate(zip(word, meant, strict=False)) if a != b), min(len(word), len(meant))
    )
    rest, wanted = word[start:], meant[start:]
    if rest[2:] == wanted[2:] and rest[:2] == wanted[1::-1] and len(wanted) > 1:
        return rest[:2].isalpha()
    if len(word) == len(meant):
        return rest[1:] == wanted[1:] and rest[0].isalpha() and wanted[0].isalpha()
    longer, shorter = (rest, wanted) if len(word) > len(meant) else (wanted, rest)
    return longer[1:] == shorter and longer[0].isalpha()
