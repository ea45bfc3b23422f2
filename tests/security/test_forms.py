"""No form of a request dodges a denial: objects that must be denied, in generated forms, both ways in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import orjson
import pytest

from tests.builders import a_policy
from tests.policies.config.contexts import a_context
from tests.security.forms import KINDS, MUTABLE, Form, an_object, forms
from tests.webhook.http.admission_caller import Caller, loggers

__all__ = ["loggers"]

pytestmark = pytest.mark.usefixtures("loggers")

#: Forms of each seed.
FORMS = 120
#: Bytes of a part of a body that comes in parts.
PARTS = (1 << 16, 4096, 997)
CHUNKED = {"content-length": "", "transfer-encoding": "chunked"}


@pytest.fixture
def caller() -> Iterator[Caller]:
    """A server whose policy denies."""
    made = Caller(a_context(a_policy(enforcement="deny")))
    yield made
    made.close()


def _review(form: Form, *, update: bool) -> bytes:
    """Return a review that holds the object as it was written, which is more than an API server passes on."""
    group, _, version = KINDS[form.kind][0].rpartition("/")
    request = {
        "uid": "6b1f",
        "kind": {"group": group, "version": version, "kind": form.kind},
        "name": "web",
        "namespace": "shop",
        "operation": "UPDATE" if update else "CREATE",
        "userInfo": {"username": "jane", "extra": {"object": ["x"]}},
    }
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    old = orjson.dumps(an_object(form.kind) if update else None)
    return orjson.dumps(review)[:-2] + b',"object":' + form.text + b',"oldObject":' + old + b"}}"


def _denial(response: dict[str, Any]) -> str:
    assert ("6b1f", False) == (response["uid"], response["allowed"]), response
    return str(response["status"]["message"])


@pytest.mark.parametrize("seed", range(4))
def test_no_form_dodges_a_denial(caller: Caller, seed: int) -> None:
    """In any form, the object is denied, or denied as unreviewable and counted, at once and by ASGI."""
    unreviewable = 0
    for number, form in enumerate(islice(forms(seed), FORMS)):
        body = _review(form, update=number % 2 == 1 and form.kind in MUTABLE)
        size = PARTS[number % len(PARTS)]
        parts = [body[start : start + size] for start in range(0, len(body), size)]
        whole = _denial(caller.call(body)["response"])

        assert whole == _denial(caller.call(*parts, headers=CHUNKED)["response"]), form.name
        unreviewable += 2 * ("unreviewable" in whole)
        caller.log()

    labels = {"phase": "validate", "verdict": "denied"}
    assert unreviewable == (caller.registry.get_sample_value("evenkeel_unreviewable_total", labels) or 0)
    assert 0 < unreviewable < FORMS


def test_large_forms(caller: Caller) -> None:
    """An argument of a million characters is denied for what is wrong, not for its size."""
    for form in islice(forms(7, ("Deployment", "Pod"), large=1.0), 25, 35):
        message = _denial(caller.call(_review(form, update=False), headers=CHUNKED)["response"])

        assert "selector-missing" in message or "unreviewable" in message
        caller.log()
