"""Forms in which one may write an object that must be denied: of each kind, in whatever way it is written.

A form changes nothing of what is wrong with the object. It adds what an API server keeps or drops and no rule
reads, and writes values in other ways: deep, long, wide, escaped, twice, as null, as another number.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

#: A constraint without a labelSelector, which counts no pod.
_WRONG: Final = {
    "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
}  # fmt: skip
_ROLLOUT: Final = "Rollout"
#: The version of each kind, and the way to the spec of its pods.
KINDS: Final = {
    "Deployment": ("apps/v1", ("spec", "template", "spec")),
    "StatefulSet": ("apps/v1", ("spec", "template", "spec")),
    "ReplicaSet": ("apps/v1", ("spec", "template", "spec")),
    "DaemonSet": ("apps/v1", ("spec", "template", "spec")),
    "ReplicationController": ("v1", ("spec", "template", "spec")),
    "CronJob": ("batch/v1", ("spec", "jobTemplate", "spec", "template", "spec")),
    _ROLLOUT: ("argoproj.io/v1alpha1", ("spec", "template", "spec")),
    "Pod": ("v1", ("spec",)),
    "Job": ("batch/v1", ("spec", "template", "spec")),
}
#: The kinds whose pods may get other constraints later.
MUTABLE: Final = tuple(kind for kind in KINDS if kind not in {"Pod", "Job"})
#: Levels: usual ones, those around the limits of parsers, and those that Go takes.
_DEPTHS: Final = (5, 150, 195, 198, 200, 203, 990, 1_010, 1_018, 1_024, 1_030, 1_100, 3_000, 9_900)
#: How often something is repeated, most often a few times.
_COUNTS: Final = (1, 1, 10, 10, 100, 100, 1_000, 1_000, 10_000, 30_000)
#: Characters that Go writes in another way, or that look like the end of something.
_CHARACTERS: Final = (
    "<",
    ">",
    "&",
    "\u2028",
    "\x01",
    "\x7f",
    '"',
    "\\",
    "é",
    "😀",
    "}",
    ",",
    '"object":',
    "a",
)

_Manifest: TypeAlias = dict[str, Any]


class Form(NamedTuple):
    """An object that must be denied, as somebody writes it."""

    kind: str  #: Its kind.
    text: bytes  #: The object, JSON as its author sends it.
    parts: tuple[str, ...]  #: What is special about it.

    @property
    def name(self) -> str:
        """The name in messages."""
        return f"{self.kind}: {', '.join(self.parts)} ({len(self.text)} bytes)"


class _Writer:
    """Writes one object; texts that stand for raw JSON are replaced at the end."""

    def __init__(self, chance: random.Random, kind: str, *, large: bool) -> None:
        self.chance = chance
        self.kind = kind
        self.large = large
        self.obj = an_object(kind)
        self.pod: _Manifest = pod_spec(self.obj)
        self.pod["topologySpreadConstraints"] = [
            {**_WRONG, "maxSkew": 0, "labelSelector": {}} if kind == _ROLLOUT else dict(_WRONG)
        ]
        self._raw: dict[str, bytes] = {}

    def raw(self, text: bytes) -> str:
        """Return a text that stands for JSON as it is given."""
        mark = f"@raw{len(self._raw)}@"
        self._raw[mark] = text
        return mark

    def count(self) -> int:
        """Return how often something is repeated."""
        return self.chance.choice(_COUNTS)

    def text(self) -> bytes:
        """Return the object."""
        text = json.dumps(self.obj, ensure_ascii=self.chance.random() < 0.5).encode()
        for mark, raw in self._raw.items():
            text = text.replace(f'"{mark}"'.encode(), raw)
        return text


def an_object(kind: str, name: str = "web") -> _Manifest:
    """Return an object with which nothing is wrong."""
    version, _ = KINDS[kind]
    labels = {"app": "web"}
    pod: _Manifest = {"containers": [{"name": "main", "image": "registry.example/web:1"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec: _Manifest = {"template": template}
    if kind in {"Job", "CronJob"}:
        pod["restartPolicy"] = "Never"
    elif kind != "Pod":
        spec["selector"] = labels if kind == "ReplicationController" else {"matchLabels": labels}
    if kind not in {"DaemonSet", "Job", "CronJob", "Pod"}:
        spec["replicas"] = 0
    match kind:
        case "StatefulSet":
            spec["serviceName"] = "web"
        case "CronJob":
            spec = {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": {"spec": spec}}
        case "Job":
            spec["suspend"] = True
        case "Pod":
            spec = pod
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": labels}, "spec": spec}


def pod_spec(obj: _Manifest) -> _Manifest:
    """Return the spec of an object's pods."""
    for key in KINDS[obj["kind"]][1]:
        obj = obj[key]
    return obj


def _nested(depth: int) -> bytes:
    return b'{"f:a":' * depth + b"{}" + b"}" * depth


def _managed(writer: _Writer, fields: bytes) -> None:
    entry = {
        "manager": "m", "operation": "Update", "apiVersion": KINDS[writer.kind][0],
        "fieldsType": "FieldsV1", "fieldsV1": writer.raw(fields),
    }  # fmt: skip
    writer.obj["metadata"].setdefault("managedFields", []).append(entry)


def _deep_managed_fields(writer: _Writer) -> None:
    _managed(writer, _nested(writer.chance.choice(_DEPTHS)))


def _wide_managed_fields(writer: _Writer) -> None:
    _managed(writer, b"{" + b",".join(b'"f:k%d":{}' % number for number in range(writer.count())) + b"}")


def _odd_managed_fields(writer: _Writer) -> None:
    odd = (rb'{"f:\ud800":{}}', b'{"f:\xff":{}}', b'{"f:a":1e999}', b'{"v:1e999":{}}', b'{"f:a":{},"f:a":{}}',
           b"[]", b"null", b'"f:a"', rb'{"k:{\"a\":1e999}":{".":{}}}')  # fmt: skip
    _managed(writer, writer.chance.choice(odd))


def _deep_unknown_field(writer: _Writer) -> None:
    where = writer.chance.choice([writer.obj, writer.obj["spec"], writer.pod, writer.obj["metadata"]])
    where["unknown"] = writer.raw(_nested(writer.chance.choice(_DEPTHS)))


def _unknown_number(writer: _Writer) -> None:
    numbers = (b"1e308", b"-0", b"1E2", b"9223372036854775808", b"1" + b"0" * 400, b"1e400", b"0.1e-400")
    writer.pod["unknown"] = writer.raw(writer.chance.choice(numbers))


def _other_number(writer: _Writer) -> None:
    if "replicas" in writer.obj["spec"]:
        writer.obj["spec"]["replicas"] = writer.raw(writer.chance.choice([b"0.0", b"0e9", b"-0", b"0E-5"]))


def _long_argument(writer: _Writer) -> None:
    character = writer.chance.choice(_CHARACTERS)
    size = writer.chance.choice((300_000, 540_000, 700_000, 1_400_000)) if writer.large else writer.count()
    writer.pod["containers"][0]["args"] = [character * (size // len(character.encode()))]


def _many_entries(writer: _Writer) -> None:
    count = writer.count()
    container = writer.pod["containers"][0]
    match writer.chance.randrange(3):
        case 0:
            container["env"] = [{"name": f"A{number}"} for number in range(count)]
        case 1:
            container["args"] = ["<>"] * count
        case _:
            writer.pod["tolerations"] = [
                {"operator": "Exists", "key": f"k{number}"} for number in range(count)
            ]


def _annotations(writer: _Writer) -> None:
    texts = (',"object":', '"}}', "\\", '{"request":{"uid":"x"}}', "\u2028", "null", "x" * writer.count())
    annotations = {f"a.example/{number}": text for number, text in enumerate(writer.chance.sample(texts, 3))}
    writer.obj["metadata"]["annotations"] = annotations


def _half_a_pair(writer: _Writer) -> None:
    writer.obj["metadata"].setdefault("annotations", {})["b.example/half"] = writer.raw(
        rb'"\ud800 \udc00\ud800"'
    )


def _no_utf8(writer: _Writer) -> None:
    writer.obj["metadata"].setdefault("annotations", {})["b.example/bytes"] = writer.raw(
        b'"\xff\xed\xa0\x80"'
    )


def _nulls(writer: _Writer) -> None:
    for name in ("affinity", "tolerations", "nodeSelector", "volumes"):
        writer.pod.setdefault(name, None)
    writer.obj["metadata"].setdefault("annotations", None)
    writer.pod["topologySpreadConstraints"][0].setdefault("matchLabelKeys", None)


def _twice(writer: _Writer) -> None:
    constraints = json.dumps(writer.pod["topologySpreadConstraints"]).encode()
    writer.pod["topologySpreadConstraints"] = writer.raw(
        constraints + b', "topologySpreadConstraints": ' + constraints
    )


def _owners(writer: _Writer) -> None:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "other",
        "uid": "00000000-0000-0000-0000-000000000001",
    }
    writer.obj["metadata"]["ownerReferences"] = [owner]


#: Every way in which an object may be written; each may be combined with others.
_PARTS: Final[tuple[Callable[[_Writer], None], ...]] = (
    _deep_managed_fields, _wide_managed_fields, _odd_managed_fields, _deep_unknown_field, _unknown_number,
    _other_number, _long_argument, _many_entries, _annotations, _half_a_pair, _no_utf8, _nulls, _owners,
    _twice,
)  # fmt: skip
#: The share of objects whose argument has hundreds of thousands of characters.
_LARGE_SHARE: Final = 0.02


def forms(
    seed: int | str, kinds: tuple[str, ...] = tuple(KINDS), *, large: float = _LARGE_SHARE
) -> Iterator[Form]:
    """Yield forms without an end: first each kind as it is, and each way by itself."""
    chance = random.Random(seed)
    for kind in kinds:
        yield _form(_Writer(chance, kind, large=False), [])
    for part in _PARTS:
        yield _form(_Writer(chance, chance.choice(kinds), large=False), [part])
    while True:
        is_large = chance.random() < large
        parts = chance.sample(_PARTS, chance.randint(1, 3))
        if is_large and _long_argument not in parts:
            parts.append(_long_argument)
        # Last what writes as raw JSON what others change.
        yield _form(_Writer(chance, chance.choice(kinds), large=is_large), sorted(parts, key=_PARTS.index))


def _form(writer: _Writer, parts: list[Callable[[_Writer], None]]) -> Form:
    for part in parts:
        part(writer)
    names = tuple(part.__name__.strip("_").replace("_", " ") for part in parts)
    return Form(writer.kind, writer.text(), names or ("as it is",))
