"""The chart: it agrees with the kustomization, its values are described and held to a schema."""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from deploy.release.project import HOMEPAGE, SLUG
from policies.config.loader import load_policies
from tests.deploy.manifests import (
    CHART,
    KUBERNETES,
    KUSTOMIZE,
    Manifests,
    base,
    build,
    render,
    rendered,
    run,
    template,
    tool,
)
from webhook.settings import Settings, options

VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
EXAMPLES = sorted((CHART / "examples").glob("*.yaml"))

SKEW = {"skew": {"metrics": 1000000, "events": True}, "certificates": {"source": "certManager"}}
#: Renders the chart anew, where ``template`` remembers what it has rendered.
_TEMPLATE = ("template", "evenkeel", str(CHART), "--namespace=evenkeel", "--set=image.repository=evenkeel")
FAIL = {"webhooks": {"validate": {"failurePolicy": "Fail"}}}


def _without_namespace(manifests: Manifests) -> Manifests:
    return {key: manifest for key, manifest in manifests.items() if key[0] != "Namespace"}


def _installed(**choices: Any) -> Manifests:
    """Return the objects of the chart, without the annotation that only Helm reads."""
    values = choices.pop("values", {}) | {"crds": {"keep": False}}
    return render(values=values, **choices)


def test_the_base_is_what_the_chart_installs() -> None:
    """Object for object and field for field; only the Namespace is not the chart's to make."""
    assert _installed() == _without_namespace(base())


@pytest.mark.parametrize(
    ("overlay", "values", "kubernetes"),
    [
        pytest.param(
            "ha",
            FAIL
            | {
                "replicas": 3,
                "resources": {"requests": {"cpu": "250m", "memory": "768Mi"}, "limits": {"memory": "2Gi"}},
            },
            KUBERNETES,
            id="ha",
        ),
        pytest.param(
            "cert-manager", {"certificates": {"source": "certManager"}}, KUBERNETES, id="cert-manager"
        ),
        pytest.param("before-1.30", {}, "1.26.0", id="before-1.30, as on 1.26"),
    ],
)
def test_an_overlay_is_the_chart_with_values(
    overlay: str, values: Mapping[str, Any], kubernetes: str
) -> None:
    """Whoever prefers one tool misses nothing of the other."""
    built = build(KUSTOMIZE / "overlays" / overlay)

    assert _installed(values=values, kubernetes=kubernetes) == _without_namespace(built)


@pytest.mark.parametrize("events", [False, True])
def test_components_are_the_chart_with_values(tmp_path: Path, *, events: bool) -> None:
    """Measuring skew is a component, for the base and for every overlay."""
    folder = Path(os.path.relpath(KUSTOMIZE, tmp_path.resolve()))
    names = ["api", "skew-metrics", "skew-events"][: 2 + events]
    wanted = {
        "resources": [str(folder / "base")],
        "components": [str(folder / "components" / name) for name in names],
    }
    (tmp_path / "kustomization.yaml").write_text(json.dumps(wanted))
    values = {"skew": {"metrics": 1000, "events": events}}

    assert _installed(values=values) == _without_namespace(build(tmp_path))


def test_soft_defaults_are_one_word(tmp_path: Path) -> None:
    """Of two values the last counts, so the component only adds an argument; a bare off is no boolean."""
    folder = Path(os.path.relpath(KUSTOMIZE, tmp_path.resolve()))
    wanted = {
        "resources": [str(folder / "base")],
        "components": [str(folder / "components/soft-defaults")],
    }
    (tmp_path / "kustomization.yaml").write_text(json.dumps(wanted))
    built = _container(build(tmp_path))["args"]
    charted = {
        text: [word for word in _container(render(values=yaml.safe_load(text)))["args"] if "defaults" in word]
        for text in ("defaults: off", "defaults: 'off'", "defaults: soft", "{}")
    }

    assert ["--defaults=off", "--defaults=soft"] == [word for word in built if "defaults" in word]
    assert {
        "defaults: off": ["--defaults=off"],
        "defaults: 'off'": ["--defaults=off"],
        "defaults: soft": ["--defaults=soft"],
        "{}": ["--defaults=off"],
    } == charted


@pytest.mark.parametrize("overlay", ["base", "overlays/cert-manager", "overlays/before-1.30"])
def test_the_secret_path_is_the_charts(tmp_path: Path, overlay: str) -> None:
    """A component puts the first token of a Secret into the paths, as the chart does with its values."""
    folder = Path(os.path.relpath(KUSTOMIZE, tmp_path.resolve()))
    tokens = ["t-" * 20, "0_" * 20]
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "evenkeel-path", "namespace": "evenkeel"},
        "stringData": {"tokens": "\n".join(tokens)},
    }
    wanted = {
        "resources": [str(folder / overlay), "path.yaml"],
        "components": [str(folder / "components/secret-path")],
    }
    (tmp_path / "path.yaml").write_text(json.dumps(secret))
    (tmp_path / "kustomization.yaml").write_text(json.dumps(wanted))
    values: dict[str, Any] = {"access": {"pathTokens": tokens}}
    if "cert-manager" in overlay:
        values["certificates"] = {"source": "certManager"}
    built = _without_namespace(build(tmp_path))
    charted = _installed(values=values, kubernetes="1.26.0" if "before" in overlay else KUBERNETES)
    of_chart = charted.pop(("Secret", "evenkeel-path"))

    assert secret == built.pop(("Secret", "evenkeel-path"))
    assert tokens == base64.b64decode(of_chart["data"]["tokens"]).decode().split("\n")
    assert built == charted
    assert 4 == str(built).count(f"/{tokens[0]}'")


def test_no_token_is_made_without_a_cluster() -> None:
    """Two renderings are the same: what GitOps tools apply has no token of its own."""
    first, second = (run(tool("helm"), *_TEMPLATE) for _ in range(2))

    assert (0, first.stdout) == (second.returncode, second.stdout)
    assert ("Secret", "evenkeel-path") not in rendered()
    assert "path: /validate," in first.stdout


def test_helm_lints_the_chart() -> None:
    """Helm's own linter has nothing to say but that there is no icon."""
    done = run(tool("helm"), "lint", "--strict", str(CHART))

    assert 0 == done.returncode, done.stdout
    assert "[WARNING]" not in done.stdout


def test_the_image_is_required() -> None:
    """A bare name would be somebody else's image on Docker Hub."""
    done = template("--set=image.repository=")

    assert 0 != done.returncode
    assert "image.repository is required" in done.stderr


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_renders_and_our_linter_agrees(example: Path) -> None:
    """We spread ourselves by our own rules."""
    done = template(f"--values={example}")
    linted = run(tool("evenkeel"), "lint", "--config", "none", "--fail-on=note", "-", stdin=done.stdout)

    assert 0 == done.returncode, done.stderr
    assert 0 == linted.returncode, linted.stdout
    assert "1 workload" in linted.stdout + linted.stderr


@pytest.mark.parametrize("file", [CHART / "values.yaml", *EXAMPLES], ids=lambda file: file.stem)
def test_the_schema_takes(file: Path) -> None:
    """The defaults and every example are good values."""
    assert [] == [
        error.message for error in Draft7Validator(SCHEMA).iter_errors(yaml.safe_load(file.read_text()))
    ]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("replica", 2),
        ("replicas", 0),
        ("replicas", "2"),
        ("name", "Evenkeel"),
        ("image.repository", "registry.example/evenkeel:1.0"),
        ("image.digest", "sha256:1"),
        ("image.pullPolicy", "Sometimes"),
        ("resources.limits.cpu", "1"),
        ("webhooks.timeoutSeconds", 30),
        ("webhooks.timeoutSeconds", 0),
        ("webhooks.mutate.failurePolicy", "Fail"),
        ("webhooks.validate.failurePolicy", "fail"),
        ("webhooks.excludeNamespaces", ["not a name"]),
        ("webhooks.namespaceSelector.matchExpression", []),
        ("customKinds", [{"group": "acme.io", "kind": "Widget", "template": "spec.template"}]),
        ("customKinds", [{"group": "acme.io", "kind": "widget", "resource": "widgets", "template": "spec"}]),
        ("policies.builtin", ["none"]),
        ("policies.config", [{"kind": "SpreadPolicy"}]),
        ("schedulerConfiguration.kind", "SpreadPolicy"),
        ("kubernetesVersion", "v1.34.1"),
        ("certificates.source", "self-signed"),
        ("certificates.certManager.duration", "90d"),
        ("access.pathTokens", ["x" * 31]),
        ("access.pathTokens", ["x" * 31 + "/"]),
        ("access.pathTokenGeneration", 0),
        ("networkPolicy.from", [{}]),
        ("networkPolicy.apiServerPorts", []),
        ("access.subjects", [{"kind": "Person", "name": "jane"}]),
        ("extraArgs", ["serve"]),
        ("monitoring.prometheusRule.certificateDays", 0),
        ("logLevel", "trace"),
        ("defaults", "hard"),
        ("defaults", True),
        ("policies.builtin", ["soft-spread"]),
        ("skew.metrics", -1),
        ("skew.events", "yes"),
    ],
    ids=lambda each: each if isinstance(each, str) else json.dumps(each),
)
def test_the_schema_refuses(path: str, value: object) -> None:
    """A value that is misspelled or cannot work is told before anything is installed."""
    values: Any = value
    for name in reversed(path.split(".")):
        values = {name: values}

    assert not Draft7Validator(SCHEMA).is_valid(values)


def _lines_with_values(node: yaml.MappingNode) -> Iterator[tuple[str, int]]:
    """Yield each value that users set, by its last name, with its line; not the levels above values."""
    for key, value in node.value:
        if isinstance(value, yaml.MappingNode) and value.value and not value.flow_style:
            yield from _lines_with_values(value)
        else:
            yield key.value, key.start_mark.line


def test_every_value_is_described() -> None:
    """Above each value stands what it does; ``# --`` begins it."""
    text = (CHART / "values.yaml").read_text()
    lines = text.splitlines()
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    undescribed = []
    for name, line in _lines_with_values(root):
        above = line - 1
        while lines[above].lstrip().startswith("#") and not lines[above].lstrip().startswith("# -- "):
            above -= 1
        # The parts of what is described as a whole stand below it.
        if not lines[above].lstrip().startswith("# -- ") and name not in {"requests", "limits"}:
            undescribed.append(name)

    assert [] == undescribed


def test_every_value_is_in_the_schema() -> None:
    """Nothing that values.yaml has is unknown to the schema."""

    def unknown(values: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
        for name, value in values.items():
            known = schema.get("properties", {})
            if name not in known:
                yield f"{path}{name}"
            elif isinstance(value, dict) and known[name].get("additionalProperties") is False:
                yield from unknown(value, known[name], f"{path}{name}.")

    assert [] == list(unknown(VALUES, SCHEMA, ""))


def _leaves(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name), value


def _placed(path: tuple[str, ...], value: object) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


@pytest.mark.parametrize(
    ("path", "value"),
    list(_leaves(VALUES)),
    ids=lambda each: ".".join(each) if isinstance(each, tuple) else "",
)
def test_a_value_of_another_type_is_refused(path: tuple[str, ...], value: object) -> None:
    """Helm says so before anything is installed: nothing takes whatever it is given."""
    others = ["text", 1, True, {"a": {}}, [{"a": {}}]]
    # A quantity is text or a number; a number may stand for text nowhere else.
    same = (str, int, float) if "resources" in path[:2] else (type(value),)
    wrong = [other for other in others if not (isinstance(other, same) and type(other) in same)]

    assert [] == [other for other in wrong if Draft7Validator(SCHEMA).is_valid(_placed(path, other))]


@pytest.mark.parametrize(
    "path", sorted({path[:depth] for path, _ in _leaves(VALUES) for depth in range(len(path))}), ids=".".join
)
def test_an_unknown_value_is_refused(path: tuple[str, ...]) -> None:
    """At every level of values.yaml; what is made of free names takes no object for one of them."""
    assert not Draft7Validator(SCHEMA).is_valid(_placed((*path, "misspelled"), {}))


def test_the_page_of_the_chart() -> None:
    """The annotations for Artifact Hub match this release, and their example is a valid policy."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    notes = {name: yaml.safe_load(text) for name, text in chart["annotations"].items()}
    definition = rendered()["CustomResourceDefinition", "spreadpolicies.evenkeel.dev"]
    (crd,), (image,) = notes["artifacthub.io/crds"], notes["artifacthub.io/images"]
    (example,) = notes["artifacthub.io/crdsExamples"]

    assert {HOMEPAGE} == {chart["home"], *chart["sources"], *(each["url"] for each in chart["maintainers"])}
    assert all(each["url"].startswith(f"{HOMEPAGE}/") for each in notes["artifacthub.io/links"])
    assert f"ghcr.io/{SLUG}:{chart['appVersion']}" == image["image"]
    assert (definition["spec"]["names"]["kind"], definition["metadata"]["name"]) == (crd["kind"], crd["name"])
    assert crd["version"] in {version["name"] for version in definition["spec"]["versions"]}
    assert (
        example["metadata"]["name"]
        == load_policies(["x"], lambda _: yaml.safe_dump(example).encode())[0].name
    )
    assert all(isinstance(text, str) for text in chart["annotations"].values())


def _container(manifests: Manifests) -> Any:
    (container,) = manifests["Deployment", "evenkeel"]["spec"]["template"]["spec"]["containers"]
    return container


@pytest.mark.parametrize(
    "values",
    [{}, SKEW, *(yaml.safe_load(example.read_text()) for example in EXAMPLES)],
    ids=["defaults", "skew", *(example.stem for example in EXAMPLES)],
)
def test_the_arguments_are_settings_that_go_together(values: Mapping[str, Any]) -> None:
    """``evenkeel serve`` would start with them."""
    command, *arguments = _container(render(values=values))["args"]
    known = {option.flag: option for option in options()}
    given: dict[str, Any] = {}
    for argument in arguments:
        flag, _, text = argument.partition("=")
        option = known[flag]
        if option.repeatable:
            given[option.name] = (*given.get(option.name, ()), text)
        else:
            given[option.name] = type(option.default)(text) if text else True
    settings = Settings(**given)

    assert "serve" == command
    assert (True, 1) == (settings.live, settings.workers)


def test_the_pod_may_take_as_long_to_end_as_the_server_does() -> None:
    """Grace is longer than the drain and what is in flight after it."""
    pod = rendered()["Deployment", "evenkeel"]["spec"]["template"]["spec"]
    defaults = {option.name: option.default for option in options()}

    assert defaults["drain_s"] + defaults["graceful_timeout_s"] + 5 < pod["terminationGracePeriodSeconds"]
    assert {defaults["drain_s"], defaults["graceful_timeout_s"]} == {
        VALUES["drainSeconds"],
        VALUES["gracefulTimeoutSeconds"],
    }


def test_the_pod_is_restricted() -> None:
    """The pod meets the Pod Security Standard *restricted*, and has a read-only root and no CPU limit."""
    pod = rendered()["Deployment", "evenkeel"]["spec"]["template"]["spec"]
    container = _container(rendered())

    assert {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    } == (container["securityContext"])
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["runAsUser"] > 0
    assert {"type": "RuntimeDefault"} == pod["securityContext"]["seccompProfile"]
    assert {"memory"} == set(container["resources"]["limits"])


def test_the_memory_limit_is_above_the_documented_peak() -> None:
    """A worker with a large cluster, and one of the API with the largest request and its answer."""
    settings, charted = Settings(self_signed=True), render(values={"api": {"enabled": True}})
    found = re.findall(r"\b(\d+) MiB", (CHART / "values.yaml").read_text().partition("\nskew:")[0])
    worker, of_api, answer = map(int, found[-3:])
    containers = [
        charted["Deployment", name]["spec"]["template"]["spec"]["containers"][0]
        for name in ("evenkeel", "evenkeel-api")
    ]

    assert answer == (settings.max_request_memory_bytes + settings.max_score_body_bytes) >> 20
    assert all("--workers=1" in container["args"] for container in containers)
    assert ["1Gi"] * 2 == [container["resources"]["limits"]["memory"] for container in containers]
    assert max(worker, of_api + answer) < 0.9 * 1024


@pytest.mark.parametrize(
    ("kubernetes", "hard", "keys"),
    [("1.20.2", False, False), ("1.26.0", False, False), ("1.27.0", True, True), ("1.36.0", True, True)],
)
def test_its_own_spread_never_holds_up_its_rollout(kubernetes: str, *, hard: bool, keys: bool) -> None:
    """A constraint is hard only where old pods and nodes that cannot be used do not count."""
    pod = render(kubernetes=kubernetes)["Deployment", "evenkeel"]["spec"]["template"]["spec"]
    hosts, zones = pod["topologySpreadConstraints"]

    assert ("DoNotSchedule" if hard else "ScheduleAnyway") == hosts["whenUnsatisfiable"]
    assert "ScheduleAnyway" == zones["whenUnsatisfiable"]
    assert keys == (
        hosts.get("matchLabelKeys") == ["pod-template-hash"] and hosts.get("nodeTaintsPolicy") == "Honor"
    )


def test_only_a_change_of_the_scheduler_configuration_restarts_the_pods() -> None:
    """It is read once; policies are taken while the pods run."""
    documents = yaml.safe_load((CHART / "examples/own-policies.yaml").read_text())
    first = render(values=documents)
    documents["policies"]["documents"][0]["spec"]["enforcement"] = "warn"
    second = render(values=documents)
    documents["schedulerConfiguration"]["profiles"][0]["schedulerName"] = "other"
    third = render(values=documents)

    assert _annotations(first) == _annotations(second) != _annotations(third)
    assert 2 == len(list(yaml.safe_load_all(first["ConfigMap", "evenkeel"]["data"]["policies.yaml"])))


def _annotations(manifests: Manifests) -> Any:
    return manifests["Deployment", "evenkeel"]["spec"]["template"]["metadata"]["annotations"]


def test_what_the_server_fills_is_shipped_empty() -> None:
    """Fields that no manifest names survive an upgrade: keys, the Lease's holder, the trusted CA."""
    manifests = rendered()

    assert {"apiVersion", "kind", "metadata", "type"} == set(manifests["Secret", "evenkeel-tls"])
    for name in ("evenkeel", "evenkeel-status"):
        assert {"apiVersion", "kind", "metadata"} == set(manifests["Lease", name])
    assert "caBundle" not in json.dumps(list(manifests.values()))


def test_the_definition_outlives_the_release() -> None:
    """With it all policies would go; who wants that says so, and who installs it otherwise leaves it out."""
    key = ("CustomResourceDefinition", "spreadpolicies.evenkeel.dev")
    kept, given_up = rendered()[key], render(values={"crds": {"keep": False}})[key]

    assert {"helm.sh/resource-policy": "keep"} == kept["metadata"]["annotations"]
    assert "annotations" not in given_up["metadata"]
    assert key not in render(values={"crds": {"install": False}})


@pytest.mark.parametrize(("kubernetes", "rules"), [("1.29.9", False), ("1.30.0", True)])
def test_cel_rules_are_for_who_knows_them(kubernetes: str, *, rules: bool) -> None:
    """kubectl rejects the keyword where the API server does not know it."""
    definition = render(kubernetes=kubernetes)["CustomResourceDefinition", "spreadpolicies.evenkeel.dev"]

    assert rules == ("x-kubernetes-validations" in json.dumps(definition))


def test_the_notes_name_real_commands() -> None:
    """Whoever has just installed it reads what to do next."""
    notes = (CHART / "templates/NOTES.txt").read_text()
    commands = {shlex.split(found)[0] for found in re.findall(r"kubectl evenkeel (.*)", notes)}

    assert {"doctor", "explain"} == commands
