"""The LintConfig document."""

from __future__ import annotations

import jsonschema
import pytest

from docs.generator.published import document_schemas
from policies.config.lint_config import ChartRelease, ChartReleases, FailOn, LintConfig, Rendering
from policies.config.lint_config_loader import load_lint_config
from policies.manifests.errors import DocumentError
from policies.manifests.skipped import FailOnSkipped

HEAD = "apiVersion: evenkeel.dev/v1alpha1\nkind: LintConfig\n"


def test_every_field() -> None:
    """Each field of the document is one of the value."""
    text = HEAD + (
        "paths: [a]\nexclude: [b]\nselect: [wrong-type]\nignore: [selector-empty]\n"
        "enable: [no-spread]\nfailOn: note\npolicies: [e]\n"
        "schedulerConfig: f\n"
        "cluster: g\nkubernetesVersion: '1.30'\nworkloadKinds: [acme.io/Widget=spec.template]\nbaseline: h\n"
        "helm: 'off'\nkustomize: 'off'\nfailOnSkipped: any\n"
        "charts: [{path: i, releases: [{name: j, namespace: k, values: [l], set: {m.n: 1},"
        " apiVersions: [o/v1]}, {name: p}]}]\n"
    )

    assert LintConfig(
        paths=("a",), exclude=("b",), select=("wrong-type",), ignore=("selector-empty",),
        enable=("no-spread",), fail_on=FailOn.NOTE, policies=("e",),
        scheduler_config="f", cluster="g", kubernetes_version="1.30",
        workload_kinds=("acme.io/Widget=spec.template",), baseline="h", helm=Rendering.OFF,
        kustomize=Rendering.OFF, fail_on_skipped=FailOnSkipped.ANY,
        charts=(
            ChartReleases(path="i", releases=(
                ChartRelease(name="j", namespace="k", values=("l",), set={"m.n": 1}, api_versions=("o/v1",)),
                ChartRelease(name="p"),
            )),
        ),
    ) == load_lint_config(text.encode(), "evenkeel.yaml")  # fmt: skip


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("", 1, id="empty"),
        pytest.param("kind: LintConfig\n", 1, id="without apiVersion"),
        pytest.param(f"{HEAD}---\n{HEAD}", 1, id="2 documents"),
        pytest.param(
            f"{HEAD}selekt: []\nfailOn: x\nkubernetesVersion: y\nworkloadKinds: [z]\npaths: ['']\n",
            5,
            id="5 mistakes",
        ),
        pytest.param(f"{HEAD}select: [x]\nignore: [y]\nenable: [z]\n", 3, id="3 rules that do not exist"),
        pytest.param("failOn: x\nignore: [y]\n", 1, id="without apiVersion and kind"),
        pytest.param(f"{HEAD}kubernetesVersion: 1.30\n", 1, id="a version that is a number"),
        pytest.param(
            f"{HEAD}failOnSkipped: x\ncharts:\n- path: a\n- releases: [{{nam: b}}]\n",
            5,
            id="a chart without releases, one without a path, a release without a name",
        ),
        pytest.param(f"{HEAD}kubernetesVersion: '1.20'\n", 1, id="a release before 1.24"),
        pytest.param(f"{HEAD}kubernetesVersion: '9.9'\n", 1, id="a release after 1.99"),
    ],
)
def test_mistakes(text: str, lines: int) -> None:
    """Every mistake is told at once, with its line."""
    with pytest.raises(DocumentError) as caught:
        load_lint_config(text.encode(), "evenkeel.yaml")

    assert lines == len(caught.value.problems)


def test_the_schema() -> None:
    """The schema is one of draft 2020-12."""
    jsonschema.Draft202012Validator.check_schema(document_schemas()[LintConfig])
