"""What is known, and what is not."""

from __future__ import annotations

import pytest

from tests.webhook.doctor.installation import a_replica, healthy
from webhook.doctor.facts import Ask, Known, Rule, Unknown, UnknownError


def test_what_is_unknown_says_why() -> None:
    """Who asks for it is told the reason."""
    with pytest.raises(UnknownError, match="may not list pods"):
        Unknown("may not list pods").get()


@pytest.mark.parametrize(
    ("operations", "groups", "resources", "expected"),
    [
        pytest.param(("CREATE",), ("",), ("pods",), True, id="pods CREATE"),
        pytest.param(("*",), ("*",), ("*",), True, id="every resource"),
        pytest.param(("*",), ("*",), ("*/*",), True, id="every resource and subresource"),
        pytest.param(("UPDATE",), ("",), ("pods",), False, id="another operation"),
        pytest.param(("CREATE",), ("apps",), ("pods",), False, id="another group"),
        pytest.param(("CREATE",), ("",), ("pods/status",), False, id="a subresource"),
        pytest.param(("CREATE",), ("",), ("pods/*",), True, id="pods with all subresources"),
    ],
)
def test_rules(
    operations: tuple[str, ...], groups: tuple[str, ...], resources: tuple[str, ...], *, expected: bool
) -> None:
    """A rule takes a request if all three lists do."""
    rule = Rule(operations=operations, groups=groups, versions=("v1",), resources=resources)

    assert expected == rule.takes("CREATE", "", "pods")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("pods/binding", True),
        ("pods/*", True),
        ("*/binding", True),
        ("*/*", True),
        ("*", False),
        ("pods", False),
    ],
)
def test_subresources_of_rules(pattern: str, *, expected: bool) -> None:
    """A star alone means no subresource."""
    rule = Rule(operations=("CREATE",), groups=("",), versions=("v1",), resources=(pattern,))

    assert expected == rule.takes("CREATE", "", "pods/binding")


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        pytest.param(Ask("list", "apps", "replicasets"), "list replicasets.apps", id="a group"),
        pytest.param(
            Ask("get", "", "secrets", "tls", "ops"), "get secrets/tls in ops", id="one of a namespace"
        ),
    ],
)
def test_asks_in_words(ask: Ask, expected: str) -> None:
    """They read as kubectl auth can-i takes them."""
    assert expected == str(ask)


def test_settings_and_commands_without_replicas() -> None:
    """Nothing is set where nobody could look, and commands take the usual name."""
    facts = healthy(replicas=Unknown("no"), workload=Unknown("no"))

    assert "" == facts.setting("live")
    assert "kubectl -n evenkeel rollout restart deployment/evenkeel" == facts.restart()
    assert "60" == healthy(replicas=Known((a_replica(settings={"lease": "60"}),))).setting("lease")
