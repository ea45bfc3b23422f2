"""Repositories of strangers: whatever is in them, nothing is downloaded, and no file outside is read."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import select
import shutil
import socket
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.manifests.skipped import SkipReason
from tests.deploy.manifests import missing, tool
from tests.webhook.lint.charts import CHART, write
from tests.webhook.lint.git import git, make_repository
from webhook.cli import lint
from webhook.lint import sandbox
from webhook.lint.external_tools import run_tool
from webhook.lint.inputs import Texts, Tools, gather_texts
from webhook.lint.reports import FORMATS
from webhook.lint.tool_limits import ToolError

#: Kustomizations that have kustomize fetch something, or that it may read otherwise than we do; ADDRESS is
#: where a connection would be noticed.
FETCHING = {
    "a field in capitals": "Resources: ['http://ADDRESS/a.yaml']",
    "a field of a generator in capitals": "configMapGenerator: [{name: a, Files: ['a=http://ADDRESS/a']}]",
    "a list in capitals": "ConfigMapGenerator: [{name: a, files: ['a=http://ADDRESS/a']}]",
    "the old field of a generator": "secretGenerator: [{name: a, env: 'http://ADDRESS/a'}]",
    "a generator's file": "configMapGenerator: [{name: a, files: ['a=http://ADDRESS/a']}]",
    "a generator's file, 2 =": "configMapGenerator: [{name: a, files: ['a=http://ADDRESS/a?b=c']}]",
    "a resource": "resources: ['http://ADDRESS/a.yaml']",
    "a resource, HTTP": "resources: ['HTTP://ADDRESS/a.yaml']",
    "a resource, Git by SSH": "resources: ['me@127.0.0.1:org/repo']",
    "a resource, Git by HTTP": "resources: ['git::http://ADDRESS/org/repo']",
    "a resource, Git of a folder": "resources: ['github.com/org/repo']",
    "a resource that is a file": "resources: ['me@127.0.0.1:org/odd']",
    "a resource with a tag": "resources: [!!str 'http://ADDRESS/a.yaml']",
    "a resource with a tag of its own": "resources: [!a 'http://ADDRESS/a.yaml']",
    "a resource in base64": "resources: [!!binary aHR0cDovLzEyNy4wLjAuMTo5L2E=]",
    "a field with a long s": "re\u017fources: ['http://ADDRESS/a.yaml']",
    "a field with a tag": "!!str Resources: ['http://ADDRESS/a.yaml']",
    "JSON": '{"Resources": ["http://ADDRESS/a.yaml"]}',
    "after a carriage return": "resources: [] # a\rResources: ['http://ADDRESS/a.yaml']",
    "a resource by an alias": "namePrefix: &a 'http://ADDRESS/a.yaml'\nresources: [*a]",
    "a resource with escapes": 'resources: ["ht\\x74p://ADDRESS/a.yaml"]',
    "a resource in a merge": "<<: {resources: ['http://ADDRESS/a.yaml']}",
    "a resource on 2 lines": "resources:\n- |\n  http://ADDRESS/a.yaml",
    "a key that stands twice": "resources: ['http://ADDRESS/a.yaml']\nresources: []",
    "a second document": "resources: []\n---\nresources: ['http://ADDRESS/a.yaml']",
    "after a line separator": "resources: [] # a\u2028Resources: ['http://ADDRESS/a.yaml']",
    "after a next line": "resources: [] # a\x85Resources: ['http://ADDRESS/a.yaml']",
    "what kustomize rewrites": "resources: ['imageTags:/a']",
    "no mapping": "- resources: ['http://ADDRESS/a.yaml']",
    "no YAML": "resources: ['http://ADDRESS/a.yaml']\n\tx: [",
    "a base": "bases: ['http://ADDRESS/a']",
    "a component": "components: ['http://ADDRESS/a']",
    "a folder that fetches": "resources: [inner]",
    "a folder behind a link": "resources: [linked]",
    "a patch": "patches: [{path: 'http://ADDRESS/a.yaml'}]",
    "a patch in capitals": "patches: [{Path: 'http://ADDRESS/a.yaml'}]",
    "an old patch": "patchesStrategicMerge: ['http://ADDRESS/a.yaml']",
    "an older patch": "patches: ['http://ADDRESS/a.yaml']",
    "a JSON patch": "patchesJson6902: [{target: {kind: A, name: a}, path: 'http://ADDRESS/a'}]",
    "replacements": "replacements: [{path: 'http://ADDRESS/a.yaml'}]",
    "an OpenAPI document": "openapi: {path: 'http://ADDRESS/a.json'}",
    "configurations": "configurations: ['http://ADDRESS/a.yaml']",
    "CRDs": "crds: ['http://ADDRESS/a.json']",
    "a chart": "helmCharts: [{name: a, repo: 'http://ADDRESS'}]",
    "generators": "generators: ['http://ADDRESS/a.yaml']",
    "a generator's own object": (
        "generators:\n- |\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {name: a}\n"
        "  files: ['a=http://ADDRESS/a']"
    ),
    "a generator's own object in 1 line": (
        "generators: ['{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: a},"
        ' files: ["a=http://ADDRESS/a"]}\']'
    ),
    "a transformer's targets": (
        "transformers:\n- |\n  apiVersion: builtin\n  kind: ValueAddTransformer\n  metadata: {name: a}\n"
        "  value: a\n  TargetFilePath: http://ADDRESS/a"
    ),
    "a transformer's file": "transformers: [transformer.yaml]",
    "a transformer's folder": "transformers: [inner]",
    "a validator": "validators: ['http://ADDRESS/a.yaml']",
}
#: Other files in the folder of each of them.
BESIDE = {
    "inner/kustomization.yaml": "Resources: ['http://ADDRESS/inner.yaml']",
    "github.com/org/repo/kustomization.yaml": "resources: []",
    "me@127.0.0.1:org/odd": "is no manifest",
    "transformer.yaml": (
        "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: a}\nPath: 'http://ADDRESS/a.yaml'"
    ),
}


def _canary() -> Iterator[str]:
    """Give the address of a socket that listens on this machine: nothing may connect to it."""
    with socket.socket() as canary:
        canary.bind(("127.0.0.1", 0))
        canary.listen()
        yield f"127.0.0.1:{canary.getsockname()[1]}"
        assert not select.select([canary], [], [], 0)[0]


#: The same for tests that are no generators.
address = pytest.fixture(_canary, name="address")


@pytest.fixture
def unguarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave programs the network, as on a kernel that grants no other: what we refuse must be enough."""
    monkeypatch.setattr(sandbox, "_LIBC", None)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty Git repository, with a file outside of it that is nobody's business."""
    (tmp_path / "secret.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: hunter2}\nspec: {containers: [{name: c, image: i}]}\n"
    )
    (tmp_path / "here" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def helm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the real helm on the PATH."""
    monkeypatch.setenv("PATH", f"{Path(tool('helm')).parent}{os.pathsep}{os.environ['PATH']}")


def reasons(texts: Texts) -> set[SkipReason]:
    return {entry.reason for entry in texts.skipped}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in FETCHING.items()])
def test_kustomizations_that_fetch(repository: Path, unguarded: None, address: str, text: str) -> None:
    """They are not built, for a reason that is told, and nobody connects to where they lead."""
    if not shutil.which("kubectl"):
        missing("kubectl", of_dev_extra=False)
    every = {"app/kustomization.yaml": text, **{f"app/{name}": beside for name, beside in BESIDE.items()}}
    write(repository, {name: each.replace("ADDRESS", address) for name, each in every.items()})
    (repository / "app" / "linked").symlink_to("inner")
    texts = gather_texts(["app/kustomization.yaml"], tools=Tools())

    assert [] == texts.texts
    assert reasons(texts) <= {SkipReason.DOWNLOAD_NEEDED, SkipReason.UNSUPPORTED}
    assert texts.skipped[0].named


_CASES = [str, str.title, str.upper, lambda name: name.replace("s", "\u017f")]
_NAMES = st.sampled_from(
    [
        "http://ADDRESS/a", "a=http://ADDRESS/a", "HTTP://ADDRESS/a", "git::http://ADDRESS/a",
        "http:/ADDRESS/a", " http://ADDRESS/a", "http://ADDRESS/a\n", "me@ADDRESS:a", "github.com/a/b",
        "a.yaml", "inner", "inner//a",
        "{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: a}, files: ['http://ADDRESS/a']}",
        "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nenvs: ['http://ADDRESS/a']",
    ]
)  # fmt: skip


def _mostly(names: list[str]) -> st.SearchStrategy[str]:
    """Return names, now and then in another case."""
    cases = st.integers(0, 19).map(lambda number: _CASES[number] if number < len(_CASES) else str)
    return st.builds(lambda name, change: change(name), st.sampled_from(names), cases)


def _entry(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    drawn = st.fixed_dictionaries({}, optional=fields)
    return st.builds(
        lambda entry, change: {change(key): value for key, value in entry.items()},
        drawn,
        st.sampled_from([str, str, str, str, str.title]),
    )


_LISTS = st.lists(_NAMES, max_size=2)
_GENERATED = _entry(name=st.just("a"), files=_LISTS, envs=_LISTS, env=_NAMES)
_PATCHED = _entry(path=_NAMES, target=st.just({"kind": "Pod"}))
_FIELDS = st.one_of(
    st.tuples(
        _mostly(
            [
                "resources",
                "bases",
                "components",
                "crds",
                "configurations",
                "generators",
                "transformers",
                "validators",
                "patches",
                "patchesStrategicMerge",
            ]
        ),
        _LISTS,
    ),
    st.tuples(_mostly(["configMapGenerator", "secretGenerator"]), st.lists(_GENERATED, max_size=2)),
    st.tuples(_mostly(["patches", "patchesJson6902", "replacements"]), st.lists(_PATCHED, max_size=2)),
    st.tuples(_mostly(["openapi"]), _entry(path=_NAMES)),
)


@settings(max_examples=40)
@given(st.lists(_FIELDS, max_size=3))
def test_any_kustomization(fields: list[tuple[str, Any]]) -> None:
    """For any fields, nothing connects to where they lead, not even without the kernel's help."""
    kubectl = shutil.which("kubectl") or missing("kubectl", of_dev_extra=False)
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        contextlib.contextmanager(_canary)() as address,
    ):
        patch.setattr(sandbox, "_LIBC", None)
        patch.setenv("PATH", str(Path(kubectl).parent))
        texts = {"kustomization.yaml": json.dumps(dict(fields)), **BESIDE, "a.yaml": "a"}
        write(Path(folder), {name: text.replace("ADDRESS", address) for name, text in texts.items()})
        gather_texts([folder], tools=Tools())


def _archive(files: dict[str, bytes]) -> bytes:
    """Return an archive of a chart."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return content.getvalue()


def _bomb(*, in_header: bool) -> bytes:
    """Return a small archive that unpacks to more than a chart may hold."""
    content = io.BytesIO()
    much = 101 * 2**20
    with tarfile.open(fileobj=content, mode="w:gz", compresslevel=1) as archive:
        member = tarfile.TarInfo("lib/a")
        if in_header:
            member.pax_headers = {"comment": "a" * much}
        else:
            member.size = much
        archive.addfile(member, io.BytesIO(bytes(member.size)))
    return content.getvalue()


@pytest.mark.usefixtures("helm")
@pytest.mark.parametrize("in_header", [False, True])
def test_archives_that_hold_too_much(repository: Path, *, in_header: bool) -> None:
    """They are not unpacked to their end, whether a file is too large or what describes it."""
    write(repository, {"shop/Chart.yaml": CHART.format(name="shop"), "shop/charts/a": ""})
    (repository / "shop/charts/lib-1.0.0.tgz").write_bytes(_bomb(in_header=in_header))
    (skipped,) = gather_texts(["shop"], tools=Tools()).skipped

    assert "charts/lib-1.0.0.tgz cannot be read: holds more than 100 MiB" in skipped.message


def _schema(**fields: str) -> bytes:
    return json.dumps({"properties": {"a": {"oneOf": [fields]}}}).encode()


_LIB = CHART.format(name="lib").encode()
_REMOTE = _schema(**{"$ref": "http://ADDRESS/a.json"})
#: Charts that read or send something, by the files that they have besides.
HOSTILE_CHARTS = {
    "a schema elsewhere": ({"values.schema.json": _REMOTE}, SkipReason.DOWNLOAD_NEEDED),
    "a schema elsewhere, with escapes": (
        {"values.schema.json": _REMOTE.replace(b"$ref", b"\\u0024ref")}, SkipReason.DOWNLOAD_NEEDED,
    ),
    "a schema of this machine": (
        {"values.schema.json": _schema(**{"$ref": "file:///etc/passwd"})}, SkipReason.DOWNLOAD_NEEDED,
    ),
    "a schema of an odd dialect": (
        {"values.schema.json": _schema(**{"$schema": "http://ADDRESS/a"})}, SkipReason.DOWNLOAD_NEEDED,
    ),
    "a schema that is none": ({"values.schema.json": b"{"}, SkipReason.UNSUPPORTED),
    "a schema of 10,000 levels": ({"values.schema.json": b"[" * 10_000}, SkipReason.UNSUPPORTED),
    "a schema of a chart within": (
        {"charts/lib/Chart.yaml": _LIB, "charts/lib/values.schema.json": _REMOTE}, SkipReason.DOWNLOAD_NEEDED,
    ),
    "a schema in an archive": (
        {"charts/lib-1.0.0.tgz": ["lib/Chart.yaml", "lib/values.schema.json"]}, SkipReason.DOWNLOAD_NEEDED,
    ),
    "a schema in an archive in an archive": (
        {"charts/lib-1.0.0.tgz": ["lib/Chart.yaml", "lib/charts/deep-1.0.0.tgz"]}, SkipReason.DOWNLOAD_NEEDED,
    ),
    "an archive that is none": ({"charts/lib-1.0.0.tgz": b"a"}, SkipReason.UNSUPPORTED),
    "10 MB 40 times": (
        {"templates/a.yaml": b'{{ repeat 40 (repeat 1000000 "abcdefghij") }}'}, SkipReason.LIMIT_EXCEEDED,
    ),
    "4 GB": (
        {"templates/a.yaml": b'{{ repeat 400 (repeat 1000000 "abcdefghij") }}'}, SkipReason.LIMIT_EXCEEDED,
    ),
    "templates that define themselves": (
        {"templates/a.yaml": b'{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}'},
        SkipReason.TOOL_FAILED,
    ),
}  # fmt: skip


@pytest.mark.usefixtures("helm", "unguarded")
@pytest.mark.parametrize(
    ("files", "reason"), [pytest.param(*case, id=name) for name, case in HOSTILE_CHARTS.items()]
)
def test_charts_that_read_or_send(
    repository: Path, address: str, files: dict[str, Any], reason: SkipReason
) -> None:
    """They are not rendered, for a reason that is told."""
    contents = {"lib/Chart.yaml": _LIB, "lib/values.schema.json": _REMOTE}
    contents["lib/charts/deep-1.0.0.tgz"] = _archive(
        {"deep/Chart.yaml": _LIB, "deep/values.schema.json": _REMOTE}
    )
    write(repository, {"shop/Chart.yaml": CHART.format(name="shop")})
    for name, content in files.items():
        file = repository / "shop" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        raw = _archive({each: contents[each] for each in content}) if isinstance(content, list) else content
        file.write_bytes(raw.replace(b"ADDRESS", address.encode()))
    texts = gather_texts(["shop"], tools=Tools())

    assert {reason} == reasons(texts)
    assert [] == [text.file for text in texts.texts if text.rendered]


@pytest.mark.parametrize(
    ("link", "target", "is_refused"),
    [
        pytest.param("shop/files/a", "../../../secret.yaml", True, id="a file outside"),
        pytest.param("shop/files/a", "/etc/passwd", True, id="a file of the machine"),
        pytest.param("shop/files/a", "/dev/zero", True, id="a device"),
        pytest.param("shop/files/a", "../../..", True, id="a folder outside"),
        pytest.param("shop/files/a", "../../.git/config", True, id="Git's own"),
        pytest.param("shop/files/a", "../../linked", True, id="a folder with such a link"),
        pytest.param("shop/values.yaml", "../../secret.yaml", True, id="values"),
        pytest.param("shop/.helmignore", "/dev/zero", True, id="what helm ignores"),
        pytest.param("shop/files/a", "../../common", False, id="a folder of the repository"),
    ],
)
def test_links_of_charts(repository: Path, helm: None, link: str, target: str, *, is_refused: bool) -> None:
    """Helm follows links; those that lead out of the repository keep it from being run."""
    template = 'a: {{ .Files.Get "files/a" | quote }}\nb: {{ .Files.Get "files/a/secret.yaml" | quote }}'
    write(
        repository,
        {
            "shop/Chart.yaml": CHART.format(name="shop"),
            "shop/templates/a.yaml": template,
            "shop/files/b": "",
            "common/a.yaml": "",
            "linked/b.yaml": "",
            ".git/config": "password = hunter2",
        },
    )
    (repository / "linked" / "a").symlink_to("../../secret.yaml")
    (repository / link).symlink_to(target)
    texts = gather_texts(["shop"], tools=Tools())

    assert ({SkipReason.OUTSIDE_REPOSITORY} if is_refused else set()) == reasons(texts)
    assert not any(b"hunter2" in text.content for text in texts.texts)


def test_a_chart_that_is_the_repository(repository: Path, helm: None) -> None:
    """Files that Git keeps for itself are none of the chart's."""
    write(
        repository,
        {
            "Chart.yaml": CHART.format(name="shop"),
            "templates/a.yaml": 'a: {{ .Files.Get ".git/config" | quote }}',
            ".git/config": "password = hunter2",
        },
    )
    texts = gather_texts(["."], tools=Tools())

    assert [b'a: ""'] == [text.content.strip() for text in texts.texts if text.rendered]


def test_what_helm_looks_up(
    repository: Path, helm: None, unguarded: None, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A template learns nothing of names, of a cluster, or of this process."""
    monkeypatch.setenv("HELM_KUBEAPISERVER", f"http://{address}")
    template = (
        'a: {{ getHostByName "localhost" | quote }}\nb: {{ lookup "v1" "Secret" "" "" | len }}\n'
        'c: {{ .Files.Get "/etc/passwd" | quote }}\nd: {{ .Files.Get "../../secret.yaml" | quote }}\n'
    )
    write(repository, {"shop/Chart.yaml": CHART.format(name="shop"), "shop/templates/a.yaml": template})
    (text,) = [text for text in gather_texts(["shop"], tools=Tools()).texts if text.rendered]

    assert b'a: ""\nb: 0\nc: ""\nd: ""' == text.content.strip()


@pytest.mark.parametrize(
    "resource",
    [
        pytest.param("http://ADDRESS/a.yaml", id="a port of this machine"),
        pytest.param("http://a.invalid/a.yaml", id="another machine"),
        pytest.param("me@a.invalid:a/b", id="Git"),
    ],
)
def test_the_network_is_gone(repository: Path, address: str, resource: str) -> None:
    """Addresses that our checks might miss are not fetched, either."""
    kubectl = shutil.which("kubectl") or missing("kubectl", of_dev_extra=False)
    if "ADDRESS" in resource and not _may_unshare():
        pytest.skip("the kernel gives no process a network of its own")
    write(repository, {"kustomization.yaml": f"resources: ['{resource.replace('ADDRESS', address)}']"})
    with pytest.raises(ToolError, match=r"unreachable|127\.0\.0\.1:1|no 'git' program") as caught:
        run_tool([kubectl, "kustomize", "--", "."])

    assert SkipReason.TOOL_FAILED == caught.value.reason


def _may_unshare() -> bool:
    """Tell whether the kernel gives a process a network of its own."""
    ours = str(Path("/proc/self/ns/net").readlink())
    python = [sys.executable, "-c", "import os; print(os.readlink('/proc/self/ns/net'))"]
    return run_tool(python).decode().strip() != ours


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("paths", ["../secret.yaml"], id="a file outside"),
        pytest.param("paths", ["/proc/self/environ"], id="a file of the machine"),
        pytest.param("paths", ["a.yaml", ".git/config"], id="Git's own"),
        pytest.param("paths", ["link.yaml"], id="a link"),
        pytest.param("paths", ["folder/secret.yaml"], id="a file below a link"),
        pytest.param("paths", ["pipe.yaml"], id="a pipe"),
        pytest.param("baseline", "/etc/passwd", id="a baseline of the machine"),
        pytest.param("baseline", "/dev/zero", id="a baseline without an end"),
        pytest.param("baseline", "pipe.yaml", id="a baseline that nobody writes"),
        pytest.param("baseline", "app", id="a baseline that is a folder"),
        pytest.param("cluster", "../secret.yaml", id="a cluster"),
        pytest.param("schedulerConfig", "../secret.yaml", id="a scheduler's configuration"),
        pytest.param("policies", ["builtin:soft-spread", "link.yaml"], id="a policy"),
        pytest.param("charts", [{"path": "../..", "releases": []}], id="a chart"),
        pytest.param(
            "charts",
            [{"path": "app", "releases": [{"name": "a", "values": ["link.yaml"]}]}],
            id="values of a chart",
        ),
    ],
)
def test_what_evenkeel_yaml_names(repository: Path, field: str, value: object) -> None:
    """One that was found may name files of its repository only; the error has its line and field."""
    (repository / "link.yaml").symlink_to("../secret.yaml")
    (repository / "folder").symlink_to("..")
    os.mkfifo(repository / "pipe.yaml")
    write(repository, {"a.yaml": "", "app/a.yaml": "", ".git/config": ""})
    config = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "LintConfig", field: value}
    (repository / "evenkeel.yaml").write_text(json.dumps(config, indent=0))
    done = CliRunner().invoke(lint.command, [], catch_exceptions=False)

    assert 2 == done.exit_code
    assert re.fullmatch(rf"evenkeel\.yaml:\d+: {field}.*: must be .*\n", done.stderr)


def test_evenkeel_yaml_that_is_named(repository: Path) -> None:
    """Whoever names it has read it: it may name anything."""
    config = "apiVersion: evenkeel.dev/v1alpha1\nkind: LintConfig\npaths: [../secret.yaml]\n"
    (repository / "evenkeel.yaml").write_text(config)

    assert 0 == CliRunner().invoke(lint.command, ["--config", "evenkeel.yaml"]).exit_code


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param("core.fsmonitor={program}", id="a monitor"),
        pytest.param("core.sshCommand={program}", id="a way to another machine"),
        pytest.param("core.pager={program}", id="a pager"),
        pytest.param("pager.ls-files={program}", id="a pager of the command"),
        pytest.param("alias.ls-files=!{program}", id="another command of its name"),
        pytest.param("core.worktree={folder}", id="another work tree"),
        pytest.param("core.hooksPath={folder}", id="hooks"),
        pytest.param("include.path={folder}/secret.yaml", id="another configuration"),
    ],
)
def test_what_git_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    """Git is asked what it tracks, and runs nothing that the repository names."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/run\n")
    program.chmod(0o755)
    (tmp_path / "post-index-change").symlink_to("program")
    (tmp_path / "secret.yaml").write_text("hunter2")
    root = make_repository(tmp_path / "here", {"a.yaml": ""})
    (root / ".gitignore").write_text("*\n")
    name, _, value = setting.partition("=")
    git(root, "config", name, value.format(program=program, folder=tmp_path))
    monkeypatch.chdir(root)
    texts = gather_texts(["."], tools=Tools())

    assert not (tmp_path / "run").exists()
    assert "hunter2" not in str(texts.skipped)
    if not name.startswith("include"):
        assert (["a.yaml"], []) == ([text.file for text in texts.texts], texts.skipped)


@pytest.mark.parametrize("name", ["a.yaml", "kustomization.yaml"])
@pytest.mark.parametrize(
    ("target", "reason"),
    [
        pytest.param("../../secret.yaml", SkipReason.OUTSIDE_REPOSITORY, id="a file outside"),
        pytest.param("/proc/self/environ", SkipReason.OUTSIDE_REPOSITORY, id="a file of the machine"),
        pytest.param("/dev/zero", SkipReason.OUTSIDE_REPOSITORY, id="a device"),
        pytest.param("../.git/config", SkipReason.OUTSIDE_REPOSITORY, id="Git's own"),
        pytest.param("", SkipReason.NOT_A_FILE, id="a pipe"),
    ],
)
def test_files_that_are_none(repository: Path, name: str, target: str, reason: SkipReason) -> None:
    """They are not opened, and told."""
    write(repository, {"app/b.yaml": "", ".git/config": "password: hunter2"})
    if target:
        (repository / "app" / name).symlink_to(target)
    else:
        os.mkfifo(repository / "app" / name)
    texts = gather_texts(["."], tools=Tools())

    assert ["app/b.yaml"] == [text.file for text in texts.texts]
    assert [(f"app/{name}", reason)] == [(entry.location.file, entry.reason) for entry in texts.skipped]


#: Kustomizations that list what is outside of the repository; NAME is a file's name.
LEAVING = {
    "a resource": "resources: [NAME]",
    "a base": "bases: [NAME]",
    "a component": "components: [NAME]",
    "a CRD": "crds: [NAME]",
    "a configuration": "configurations: [NAME]",
    "a generator": "generators: [NAME]",
    "a transformer": "transformers: [NAME]",
    "a validator": "validators: [NAME]",
    "a patch": "patches: [{path: NAME}]",
    "an old patch": "patchesStrategicMerge: [NAME]",
    "an older patch": "patches: [NAME]",
    "a JSON patch": "patchesJson6902: [{target: {version: v1, kind: Pod, name: a}, path: NAME}]",
    "replacements": "replacements: [{path: NAME}]",
    "a generator's file": "configMapGenerator: [{name: a, files: [NAME]}]",
    "a generator's file with a name": "configMapGenerator: [{name: a, files: [a=NAME]}]",
    "a generator's variables": "secretGenerator: [{name: a, envs: [NAME]}]",
    "the old field of a generator": "secretGenerator: [{name: a, env: NAME}]",
    "an OpenAPI document": "openapi: {path: NAME}",
    "a generator's own object": (
        "generators:\n- |\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {name: a}\n"
        "  files: [a=NAME]"
    ),
    "a transformer's own object": (
        "transformers:\n- |\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: a}\n"
        "  path: NAME"
    ),
    "a transformer's targets": (
        "transformers:\n- |\n  apiVersion: builtin\n  kind: ValueAddTransformer\n  metadata: {name: a}\n"
        "  value: a\n  targetFilePath: NAME"
    ),
    "a base that leaves": "resources: [../inner]",
    "a component that leaves": "components: [../inner]",
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("../../secret.yaml", id="outside"),
        pytest.param("../../here/../secret.yaml", id="outside, by a detour"),
        pytest.param("/etc/hostname", id="of the machine"),
        pytest.param("link.yaml", id="a link"),
        pytest.param("folder/secret.yaml", id="below a link"),
        pytest.param("folder/../../../secret.yaml", id="above a link"),
        pytest.param("../.git/config", id="Git's own"),
    ],
)
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in LEAVING.items()])
def test_kustomizations_that_list_what_is_outside(repository: Path, text: str, name: str) -> None:
    """Kustomize would open it, so they are not built, wherever the file is listed."""
    kustomizations = {"app": text, "inner": "configMapGenerator: [{name: a, files: [NAME]}]"}
    write(
        repository,
        {
            **{
                f"{where}/kustomization.yaml": each.replace("NAME", name)
                for where, each in kustomizations.items()
            },
            ".git/config": "password: hunter2",
        },
    )
    for folder in ("app", "inner"):
        (repository / folder / "link.yaml").symlink_to("../../secret.yaml")
        (repository / folder / "folder").symlink_to("../..")
    texts = gather_texts(["app/kustomization.yaml"], tools=Tools())

    assert [] == texts.texts
    (skipped,) = texts.skipped
    assert SkipReason.OUTSIDE_REPOSITORY == skipped.reason
    assert "hunter2" not in str(skipped)


def test_kustomizations_that_list_what_is_above(repository: Path) -> None:
    """Files of the repository may be anywhere in it."""
    if not shutil.which("kubectl"):
        missing("kubectl", of_dev_extra=False)
    write(
        repository,
        {
            "app/kustomization.yaml": (
                "resources: [../all/pod.yaml]\nconfigMapGenerator: [{name: a, files: [b=../all/b]}]"
            ),
            "all/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
            "all/b": "",
        },
    )
    texts = gather_texts(["app/kustomization.yaml"], tools=Tools())

    assert [] == texts.skipped
    assert 1 == len(texts.texts)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("resources: [../../out]", id="a folder"),
        pytest.param("resources: [link]", id="a link to a folder"),
        pytest.param("resources: [inner]", id="a folder with a link"),
        pytest.param("transformers: [link.yaml]", id="a link to an object that steers kustomize"),
    ],
)
def test_kustomizations_that_leave_the_repository(repository: Path, text: str) -> None:
    """They are not built, and what is outside is not told."""
    write(repository.parent, {"out/kustomization.yaml": "hunter2: []\npath: http://hunter2/"})
    write(repository, {"app/kustomization.yaml": text, "app/inner/a.yaml": ""})
    (repository / "app" / "link").symlink_to("../../out")
    for link in ("app/link.yaml", "app/inner/kustomization.yaml"):
        (repository / link).symlink_to(repository.parent / "out" / "kustomization.yaml")
    (skipped,) = gather_texts(["app/kustomization.yaml"], tools=Tools()).skipped

    assert skipped.reason in {SkipReason.OUTSIDE_REPOSITORY, SkipReason.UNSUPPORTED}
    assert "hunter2" not in str(skipped)


def test_no_source_line_of_what_is_no_manifest(repository: Path) -> None:
    """Neither the line nor a part of it is shown, in any format."""
    (repository / "env").write_text("PASSWORD=hunter2: [hunter2\n")
    for form in FORMATS:
        result = CliRunner().invoke(lint.command, ["env", "-o", form])

        assert 2 == result.exit_code
        assert "hunter2" not in result.output


#: Files that make kustomize or helm open a named pipe, p, and wait for its end.
PIPES = {
    "a resource": {"k/kustomization.yaml": "resources: [../p]"},
    "a patch": {"k/kustomization.yaml": "patches: [{path: ../p}]"},
    "a JSON patch": {"k/kustomization.yaml": "patchesJson6902: [{target: {kind: A, name: a}, path: ../p}]"},
    "a CRD": {"k/kustomization.yaml": "crds: [../p]"},
    "a configuration": {"k/kustomization.yaml": "configurations: [../p]"},
    "an OpenAPI document": {"k/kustomization.yaml": "openapi: {path: ../p}"},
    "replacements": {"k/kustomization.yaml": "replacements: [{path: ../p}]"},
    "a generator's file": {"k/kustomization.yaml": "configMapGenerator: [{name: a, files: [a=../p]}]"},
    "a generator's variables": {"k/kustomization.yaml": "secretGenerator: [{name: a, envs: [../p]}]"},
    "a transformer": {"k/kustomization.yaml": "transformers: [../p]"},
    "a transformer's file": {
        "k/kustomization.yaml": (
            "transformers:\n- |\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: a}\n"
            "  path: ../p"
        )
    },
    "a link": {"k/kustomization.yaml": "resources: [link]"},
    "another kustomization of the folder": {"k/kustomization.yaml": "", "k/kustomization.yml": None},
    "a base": {"k/kustomization.yaml": "resources: [../b]", "b/Kustomization": None},
    "values of an Application": {
        "c/Chart.yaml": CHART.format(name="c"),
        "a.yaml": (
            "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a},"
            " spec: {source: {path: c, helm: {valueFiles: [../p]}}}}"
        ),
    },
    "a file of a chart": {"c/Chart.yaml": CHART.format(name="c"), "c/files/p": None},
}


@pytest.mark.usefixtures("helm")
@pytest.mark.parametrize("files", [pytest.param(files, id=name) for name, files in PIPES.items()])
def test_pipes(repository: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str | None]) -> None:
    """No program is run that would wait for one."""
    monkeypatch.setattr(sandbox, "run_confined", None)
    os.mkfifo(repository / "p")
    (repository / "k").mkdir()
    (repository / "k/link").symlink_to("../p")
    for name, text in files.items():
        if text is None:
            (repository / name).parent.mkdir(parents=True, exist_ok=True)
            os.mkfifo(repository / name)
        else:
            write(repository, {name: text})
    texts = gather_texts(["."], tools=Tools())

    assert {SkipReason.NOT_A_FILE, SkipReason.UNSUPPORTED} & reasons(texts)
    assert not any(text.rendered for text in texts.texts)
