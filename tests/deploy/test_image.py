"""The image: what is built is written down, and what is copied exists."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy.release.project import HOMEPAGE
from tests.deploy.manifests import DEPLOY, rendered

ROOT = DEPLOY.parent
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PINNED = {
    canonicalize_name(name): version
    for name, version in re.findall(
        r"^([A-Za-z0-9._-]+)==([^\s;]+)", (DEPLOY / "constraints.txt").read_text(), re.MULTILINE
    )
}


def _needed() -> dict[str, list[Requirement]]:
    """Return every package that the program needs, by name, with what is asked of it.

    A package that is installed here in another release than the pinned one asks for nothing.
    """
    found: dict[str, list[Requirement]] = {}
    waiting = [(Requirement("kube-evenkeel[server]"), True)]
    while waiting:
        requirement, is_asked = waiting.pop()
        if requirement.marker and not any(
            requirement.marker.evaluate({"extra": extra}) for extra in ("", "server")
        ):
            continue
        name = canonicalize_name(requirement.name)
        if name not in found:
            package = distribution(name)
            is_pinned = package.version == PINNED.get(name, package.version)
            waiting += ((Requirement(text), is_pinned) for text in package.requires or ())
        found.setdefault(name, []).extend([requirement] if is_asked else [])
    del found["kube-evenkeel"]
    return found


def test_every_package_is_pinned() -> None:
    """The packages of an image do not depend on the day of its build; a new dependency shows here."""
    assert set() == set(_needed()) - set(PINNED)


def test_what_only_the_build_needs_is_uninstalled() -> None:
    """The image holds the program and what it runs with."""
    (words,) = re.findall(r"^pip uninstall --yes (.*)$", (DEPLOY / "install.sh").read_text(), re.MULTILINE)
    elsewhere = {"colorama", "pywin32"}

    assert set(words.split()) == set(PINNED) - set(_needed()) - elsewhere


@pytest.mark.parametrize(
    "text",
    [
        *PROJECT["build-system"]["requires"],
        *(str(requirement) for found in _needed().values() for requirement in found),
    ],
)
def test_a_pin_is_one_that_we_allow(text: str) -> None:
    """The build would fail otherwise."""
    requirement = Requirement(text)

    assert requirement.specifier.contains(PINNED[canonicalize_name(requirement.name)])


@pytest.mark.parametrize(
    "source", sorted({*re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)})
)
def test_what_is_copied_exists_and_is_not_left_out(source: str) -> None:
    """The context of a build has it, for .dockerignore names it."""
    let_in = (ROOT / ".dockerignore").read_text().splitlines()

    assert all((ROOT / each).exists() and f"!{each}" in let_in for each in source.split())


def test_the_image_has_every_package_of_ours() -> None:
    """The image copies the packages of the wheel, and not conformance."""
    packages = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]

    assert all(f"COPY {package} {package}\n" in DOCKERFILE for package in packages)
    assert "conformance" not in DOCKERFILE


def test_the_image_runs_as_the_pod_says() -> None:
    """The user is the same number, no shell is between, and the base is what its digest says."""
    user = rendered()["Deployment", "evenkeel"]["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", DOCKERFILE, re.MULTILINE)
    (base,) = re.findall(r"^ARG PYTHON=python:(.*)$", DOCKERFILE, re.MULTILINE)

    assert f"USER {user}:{user}\n" in DOCKERFILE
    assert ["/opt/evenkeel/bin/evenkeel"] == json.loads(entry)
    assert re.fullmatch(r"3\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base)


def test_a_rootless_builder_can_build_it() -> None:
    """No step needs what such a builder has not: a privilege, a device, another owner."""
    steps = [step for step in re.sub(r"\\\n", " ", DOCKERFILE).splitlines() if step and step[0] != "#"]
    words = {step.split()[0] for step in steps}
    runs = " ".join(step for step in steps if step.startswith("RUN"))

    assert words <= {
        "ARG",
        "FROM",
        "ENV",
        "WORKDIR",
        "COPY",
        "RUN",
        "LABEL",
        "USER",
        "EXPOSE",
        "ENTRYPOINT",
        "CMD",
    }
    assert not re.search(r"--(?:security|mount|network|device|chown)|# *syntax=", DOCKERFILE)
    assert not re.search(
        r"\b(?:sudo|chown|mount|mknod|setcap|useradd|adduser|apt-get|chmod [ugo+]*s)\b", runs
    )


def test_the_image_says_where_it_is_from() -> None:
    """Registries link the sources by this label."""
    assert f'org.opencontainers.image.source="{HOMEPAGE}"' in DOCKERFILE


def test_one_version_says_what_is_installed() -> None:
    """Chart, program, image and conformance move together."""
    apart = tomllib.loads((ROOT / "conformance" / "pyproject.toml").read_text())["project"]
    chart = (DEPLOY / "helm/evenkeel/Chart.yaml").read_text()

    assert [PROJECT["project"]["version"]] * 2 == re.findall(r"^(?:appV|v)ersion: (.*)$", chart, re.MULTILINE)
    assert PROJECT["project"]["version"] == apart["version"]
    assert f"kube-evenkeel=={apart['version']}" in apart["dependencies"]
