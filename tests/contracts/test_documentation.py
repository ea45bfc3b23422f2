"""The documentation says what is true; ``python -m docs.generator --check`` compares what is generated."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from deploy.release.archives import PYTHONS
from docs.generator import installation
from policies.admission.decision import AdmissionVerdict
from policies.config.default_constraints import INJECT_ANNOTATION
from policies.config.enforcement import IGNORE_ANNOTATION, UNSCHEDULABLE
from policies.config.lint_config_loader import load_lint_config
from policies.config.loader import builtin_names, load_policies
from policies.model.api_rules import ApiRule
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.workload_kinds import KNOWN_KINDS, WorkloadKind
from webhook.cli.machine import JSONL
from webhook.cli.main import command as evenkeel
from webhook.http.api_routes import API_ROUTES
from webhook.lint.reports import FORMATS
from webhook.requests.frame import read_request
from webhook.requests.score import ScoreRequest
from webhook.requests.simulate import SimulateRequest

ROOT = Path(__file__).parents[2]
#: The pages that people write, by their path; of the changelog what the next release has.
PAGES = {
    path.relative_to(ROOT).as_posix(): re.split(r"\n## \d", path.read_text())[0]
    for path in [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("docs/decisions/*.md"),
        ROOT / "conformance/README.md",
        ROOT / "docs/reference/logs.md",
        ROOT / "docs/reference/machine-forms.md",
    ]
}
TEXT = "\n".join(PAGES.values())

#: Rules that only KubeSchedulerConfiguration and SpreadPolicy documents can break.
OF_DOCUMENTS = {
    ApiRule.TOPOLOGY_KEY_INVALID,
    ApiRule.DEFAULTING_TYPE_UNKNOWN,
    ApiRule.SYSTEM_DEFAULTS_WITH_LIST,
    ApiRule.SELECTOR_IN_DEFAULT,
}
#: Options of other programs that pages name.
OPTIONS_OF_OTHERS = {
    "--cascade",
    "--admission-control-config-file",
    "--dry-run",
    "--force",
    "--update-golden",
}
#: The pattern of a log event.
EVENT = re.compile(r"[a-z]+(?:_[a-z]+)*")


@pytest.mark.parametrize("rule", [*sorted(set(ApiRule) - OF_DOCUMENTS), UNSCHEDULABLE])
def test_every_rule_of_the_api_is_documented(rule: str) -> None:
    """A rule that an object can be exempt from is named where denials are explained."""
    assert f"`{rule}`" in PAGES["docs/admission.md"]


@pytest.mark.parametrize("annotation", [INJECT_ANNOTATION, IGNORE_ANNOTATION, INJECTED_ANNOTATION])
def test_annotations_are_documented(annotation: str) -> None:
    """Annotations that people write or find on their objects are explained."""
    assert annotation in PAGES["docs/admission.md"]


@pytest.mark.parametrize("name", builtin_names())
def test_builtin_policies_are_documented(name: str) -> None:
    """Every document that comes with Evenkeel is named."""
    assert re.search(rf"\b{name}\b", PAGES["docs/policies.md"])


def test_log_events_are_documented() -> None:
    """The table has every event that the code logs, and no other."""
    table = PAGES["docs/reference/logs.md"].partition("| event |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]

    assert sorted(_logged_events()) == sorted(
        event for cell in cells for event in re.findall(r"`(\w+)`", cell)
    )


def _logged_events() -> set[str]:
    found = {route.event for route in API_ROUTES.values()}
    for module in (path.read_text() for path in (ROOT / "webhook").rglob("*.py")):
        if re.search("LOGGER|ProblemLog|LeaderComponent", module):
            found |= set(_events_of(ast.parse(module)))
    return found


def _events_of(module: ast.Module) -> Iterator[str]:
    """Yield the events given to the logger, and snake_case names given to functions that pass them on."""
    for call in (node for node in ast.walk(module) if isinstance(node, ast.Call)):
        name = ast.unparse(call.func)
        if name.startswith("LOGGER."):
            yield from _texts(call.args[0])
        elif name.startswith("self._problems."):
            yield from (event for text in _texts(call.args[0]) for event in (text, f"{text}_resolved"))
        elif name == "super().__init__":
            given = (keyword.value for keyword in call.keywords if keyword.arg == "event")
            events = [text for value in given for text in _texts(value)]
            yield from (f"{event}_{change}" for event in events for change in ("started", "stopped"))
        elif re.search(r"hold|line|log|report|tell|warn", name):
            yield from (text for argument in call.args for text in _texts(argument) if "_" in text)


def _texts(argument: ast.expr) -> Iterator[str]:
    match argument:
        case ast.Constant(value=str(text)) if EVENT.fullmatch(text):
            yield text
        case ast.IfExp():
            yield from _texts(argument.body)
            yield from _texts(argument.orelse)
        case ast.JoinedStr(values=[ast.Constant(value="review_"), _]):
            yield from (f"review_{verdict}" for verdict in AdmissionVerdict)


@pytest.mark.parametrize("page", PAGES)
def test_metrics_alerts_and_options_exist(page: str) -> None:
    """Metrics, alerts and options that a page names exist."""
    text = PAGES[page]
    metrics = set(re.findall(r"\bevenkeel_[a-z_]+\b", text))
    alerts = set(re.findall(r"\bEvenkeel[A-Z]\w+", text))
    options = set(re.findall(r"`(--[a-z][a-z-]*)", text))

    assert set() == metrics - _metrics()
    assert set() == alerts - {alert["alert"] for alert in installation.alerts()}
    assert set() == options - set(_options(evenkeel)) - {JSONL} - OPTIONS_OF_OTHERS


@cache
def _metrics() -> set[str]:
    families = installation.metric_families()
    return {family.name + ("_total" if family.type == "counter" else "") for family in families}


@cache
def _options(group: click.Command) -> list[str]:
    names = [name for parameter in group.params for name in (*parameter.opts, *parameter.secondary_opts)]
    if isinstance(group, click.Group):
        context = click.Context(group)
        children = (group.get_command(context, name) for name in group.list_commands(context))
        names += [name for child in children if child for name in _options(child)]
    return names


@pytest.mark.parametrize(
    "value",
    sorted(
        set(re.findall(r"`((?:certificates|monitoring|webhooks|policies|access)\.(?!yaml)[A-Za-z.]+)", TEXT))
    ),
)
def test_values_of_the_chart_exist(value: str) -> None:
    """Values that a page sets with --set exist."""
    assert value in {name for name, _, _ in installation.values()}


def test_every_value_of_the_chart_is_described() -> None:
    """A value without a comment would be missing on its page."""
    described = {name for name, _, _ in installation.values()}
    defaults = yaml.safe_load(installation.VALUES.read_text())

    assert set() == {path for path in _paths(defaults) if _above(path).isdisjoint(described)}


def _paths(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict) and value:
        for name, child in value.items():
            yield from _paths(child, f"{path}.{name}".lstrip("."))
    else:
        yield path


def _above(path: str) -> set[str]:
    names = path.split(".")
    return {".".join(names[:count]) for count in range(1, len(names) + 1)}


def _blocks(language: str, kind: str = "") -> list[str]:
    blocks = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    return [block for block in blocks if kind in block]


def test_policies_load() -> None:
    """Every SpreadPolicy that a page shows is one."""
    text = "\n---\n".join(_blocks("yaml", "kind: SpreadPolicy"))
    policies = load_policies(["pages"], lambda _: text.encode())

    assert ["production"] == [policy.name for policy in policies]


def test_lint_configs_load() -> None:
    """Every LintConfig that a page shows is one."""
    configs = [load_lint_config(block.encode(), "page") for block in _blocks("yaml", "kind: LintConfig")]

    assert 1 == len(configs)


def test_score_requests_are_complete() -> None:
    """Every request that a page shows is answered."""
    (score,), (simulate,) = _blocks("json", '"pod"'), _blocks("json", '"queue"')

    assert read_request(ScoreRequest, score.encode()).pod
    assert read_request(SimulateRequest, simulate.encode()).queue


def _command_lines() -> list[str]:
    """Return every command line of Evenkeel in the pages and in the examples, without pipes and comments."""
    files = [path.read_text() for path in (ROOT / "deploy/examples").iterdir()]
    pattern = r"(?:^ *|\| |- |&& |[$] (?:kubectl )?)(evenkeel [a-z]+\b[^|<>&;#\n`]*)"
    consoles = "\n".join(_blocks("(?:console|bash)"))
    return sorted({line for text in [consoles, *files] for line in re.findall(pattern, text, re.MULTILINE)})


@pytest.mark.parametrize("line", _command_lines())
def test_command_lines_are_real(line: str) -> None:
    """The commands and options that people copy exist."""
    parent = click.Context(evenkeel)
    name, found, arguments = evenkeel.resolve_command(parent, shlex.split(line)[1:])
    assert found is not None

    found.make_context(name, arguments, parent=parent)


@pytest.mark.parametrize("page", [name for name in PAGES if "/" not in name])
def test_links_lead_somewhere(page: str) -> None:
    """The pages outside of docs/ link to files and headings that exist; zensical checks the others."""
    for target in re.findall(r"\]\(((?!https?:)[^)]+)\)", PAGES[page]):
        file, _, anchor = target.partition("#")
        assert (ROOT / file).exists(), target
        assert not anchor or anchor in _anchors(ROOT / file), target


@pytest.mark.parametrize("page", PAGES)
def test_files_exist(page: str) -> None:
    """A file, folder or module that a page names is there."""
    named = re.findall(
        r"`((?:[.]ci|[.]github|benchmarks|certs|conformance|deploy|docs|planning|policies|tests|webhook)/[\w./-]*)",
        PAGES[page],
    )

    assert [] == [name for name in named if not ((ROOT / name).exists() or (ROOT / f"{name}.py").exists())]


def test_every_format_of_lint_is_described() -> None:
    """The table has each format, and no other."""
    table = PAGES["docs/lint.md"].partition("| format |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]

    assert {*FORMATS, "html"} == {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


@pytest.mark.parametrize("package", ["policies", "webhook"])
def test_the_architecture_has_every_package(package: str) -> None:
    """The table says what each package contains."""
    named = set(re.findall(rf"`{package}/([a-z_]+)", PAGES["docs/architecture.md"]))
    there = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}

    assert set() == there - named


def test_the_pythons_of_the_archives_are_named() -> None:
    """The page says with which releases of Python an archive runs."""
    (named,) = re.findall(r"a Python (3[.\d, ]+ or 3\.\d+)", PAGES["docs/install.md"])

    assert list(PYTHONS) == re.findall(r"3\.\d+", named)


def test_names_stand_in_their_files() -> None:
    """A name that a recipe finds in a file is in that file."""
    text = re.sub(r"\s+", " ", PAGES["CONTRIBUTING.md"])
    named = re.findall(r"`(\w+)` (?:in|of|among [^`]*) `([a-z]+/[\w./-]+\.\w+)`", text)

    assert named
    assert [] == [name for name in named if not re.search(rf"\b{name[0]}\b", (ROOT / name[1]).read_text())]


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_site_loads_nothing_from_elsewhere() -> None:
    """No fonts, scripts or images of other servers."""
    project = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    images = "".join(path.read_text() for path in (ROOT / "docs/images").glob("*.svg"))

    assert project["theme"]["font"] is False
    assert "extra_javascript" not in project
    assert "url(" not in (ROOT / "docs/style.css").read_text()
    assert "```mermaid" not in TEXT
    assert {"http://www.w3.org/2000/svg"} == set(re.findall(r"https?://[^\"')\s]+", images))
    assert [] == re.findall(r"!\[[^]]*\]\(http", TEXT)


@pytest.mark.parametrize("kind", KNOWN_KINDS, ids=lambda kind: kind.name)
def test_the_example_registers_every_kind(kind: WorkloadKind) -> None:
    """The example sends every known kind to /validate, and to /mutate what may get defaults there."""
    mutating, validating = yaml.safe_load_all((ROOT / "deploy/examples/webhooks.yaml").read_text())
    injectable = kind.spreads and (kind.is_pod or kind.selector is not None)

    assert _registered(validating, kind)
    assert injectable == _registered(mutating, kind)


def _registered(configuration: dict[str, Any], kind: WorkloadKind) -> bool:
    webhook, *_ = configuration["webhooks"]
    return any(
        kind.group in rule["apiGroups"] and f"{kind.kind.lower()}s" in rule["resources"]
        for rule in webhook["rules"]
    )


@pytest.mark.parametrize(
    "target", re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
)
def test_make_targets_are_described(target: str) -> None:
    """CONTRIBUTING lists every target."""
    assert f"make {target}" in PAGES["CONTRIBUTING.md"]
