"""Which pods a webhook is called for, and what its configuration says."""

from __future__ import annotations

import pytest

from tests.webhook.doctor.installation import LABELS, MUTATING, a_configuration
from webhook.doctor.installed import RegisteredWebhook


def webhook(**fields: object) -> RegisteredWebhook:
    found = a_configuration(MUTATING)["webhooks"][0] | fields
    return RegisteredWebhook(kind=MUTATING, configuration="evenkeel", position=2, fields=found)


@pytest.mark.parametrize(
    ("operations", "groups", "resources", "expected"),
    [
        pytest.param(["CREATE"], [""], ["pods"], True, id="CREATE of pods"),
        pytest.param(["*"], ["*"], ["*"], True, id="everything"),
        pytest.param(["*"], ["*"], ["*/*"], True, id="everything with subresources"),
        pytest.param(["CREATE"], [""], ["pods/*"], True, id="pods with subresources"),
        pytest.param(["UPDATE"], [""], ["pods"], False, id="another operation"),
        pytest.param(["CREATE"], ["apps"], ["pods"], False, id="another group"),
        pytest.param(["CREATE"], [""], ["pods/status"], False, id="a subresource"),
    ],
)
def test_rules(operations: list[str], groups: list[str], resources: list[str], *, expected: bool) -> None:
    """A rule matches if all three lists do.

    Source: ``Matcher``, apiserver ``plugin/webhook/predicates/rules``, Kubernetes 1.36.
    """
    rule = {"operations": operations, "apiGroups": groups, "apiVersions": ["*"], "resources": resources}

    assert expected == webhook(rules=[rule], namespaceSelector={}).matches_pods({}, LABELS)


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        pytest.param({}, LABELS, True, id="any pod"),
        pytest.param({"matchLabels": LABELS}, LABELS, True, id="selected"),
        pytest.param({"matchLabels": {"app": "web"}}, LABELS, False, id="not selected"),
        pytest.param({"matchLabels": {"app": "web"}}, None, True, id="labels are not known"),
    ],
)
def test_object_selector(
    selector: dict[str, object], labels: dict[str, str] | None, *, expected: bool
) -> None:
    """Pods whose labels are not known may be selected."""
    assert expected == webhook(namespaceSelector=None, objectSelector=selector).matches_pods({}, labels)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("request.namespace != 'evenkeel'", "c", id="single quotes"),
        pytest.param('!(request.namespace in ["evenkeel"])', "c", id="double quotes"),
        pytest.param("request.namespace != 'evenkeel-test'", "", id="another namespace"),
        pytest.param("object.metadata.name != 'evenkeel'", "", id="not the namespace"),
    ],
)
def test_match_conditions(expression: str, expected: str) -> None:
    """A condition that names the namespace of the request is taken to exclude it."""
    conditions = [{"name": "a", "expression": "true"}, {"name": "c", "expression": expression}]

    assert expected == webhook(matchConditions=conditions).condition_on("evenkeel")


def test_what_it_calls() -> None:
    """The port of a Service is 443 unless the webhook names another."""
    service = {"namespace": "a", "name": "b"}

    assert ("evenkeel/evenkeel", 443) == webhook().service
    assert ("a/b", 443) == webhook(clientConfig={"service": service}).service
    assert ("a/b", 9) == webhook(clientConfig={"service": service | {"port": 9}}).service
    assert webhook(clientConfig={"url": "https://a"}).service is None
    assert b"" == webhook(clientConfig={"url": "https://a"}).ca_bundle


def test_command_that_sets_a_field() -> None:
    """It patches the one webhook."""
    assert (
        "kubectl patch mutatingwebhookconfiguration evenkeel --type=json -p "
        '\'[{"op":"add","path":"/webhooks/2/timeoutSeconds","value":3}]\''
    ) == webhook().set_field("timeoutSeconds", 3)
