"""Which bodies are AdmissionReviews."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.recorded import recorded_reviews
from webhook.admission.review import Review, ReviewError

GOOD = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "u",
        "operation": "CREATE",
        "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
    },
}


def body(**request: Any) -> bytes:
    return json.dumps(GOOD | {"request": {**GOOD["request"], **request}}).encode()  # type: ignore[dict-item]


def test_all_recorded_requests_are_read() -> None:
    """Every request that a real API server sent is understood."""
    reviews = {name: Review.parse(text) for name, text in recorded_reviews().items()}

    assert 214 == len(reviews)
    assert {name.split(".")[2].split("-")[0] for name in reviews} == {
        review.operation for review in reviews.values()
    }


def test_what_a_request_says() -> None:
    """Every part of a request that decisions need is taken from it."""
    review = Review.parse(
        body(
            subResource="scale",
            namespace="shop",
            name="web",
            object={},
            oldObject=None,
            dryRun=True,
            userInfo={"username": "jane", "groups": ["system:authenticated"]},
        )
    )

    assert review == Review(
        uid="u",
        operation="CREATE",
        group="apps",
        kind="Deployment",
        sub_resource="scale",
        namespace="shop",
        name="web",
        obj={},
        old_object=None,
        dry_run=True,
        user="jane",
    )


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        pytest.param(b"", [], id="empty"),
        pytest.param(b"{", [], id="cut off"),
        pytest.param(b'"\xff"', [], id="invalid UTF-8"),
        pytest.param(b"[" * 100_000, [], id="100,000 brackets"),
        pytest.param(b'{"a":' * 5_000 + b"1" + b"}" * 5_000, [], id="5,000 levels"),
        pytest.param(b"[]", [""], id="a list"),
        pytest.param(b"null", ["apiVersion"], id="null"),
        pytest.param(b"{}", ["apiVersion"], id="no review"),
        pytest.param(
            json.dumps(GOOD | {"apiVersion": "admission.k8s.io/v1beta1"}).encode(),
            ["apiVersion"],
            id="v1beta1",
        ),
        pytest.param(json.dumps(GOOD | {"kind": "Pod"}).encode(), ["kind"], id="a pod"),
        pytest.param(json.dumps(GOOD | {"request": None}).encode(), ["request"], id="no request"),
        pytest.param(json.dumps(GOOD | {"request": []}).encode(), ["request"], id="a list for the request"),
        pytest.param(body(uid=""), ["request.uid"], id="no uid"),
        pytest.param(
            body(uid=7, operation=[], kind="Pod", object=3, oldObject="x", dryRun="yes", name={}),
            [
                "request.kind",
                "request.uid",
                "request.operation",
                "request.kind.kind",
                "request.name",
                "request.object",
                "request.oldObject",
                "request.dryRun",
            ],
            id="seven wrong types and one missing, all told",
        ),
        pytest.param(body(kind={"kind": ""}), ["request.kind.kind"], id="no kind"),
        pytest.param(body(userInfo="jane"), ["request.userInfo"], id="a text for userInfo"),
        pytest.param(body(userInfo={"username": 7}), ["request.userInfo.username"], id="a number for a user"),
    ],
)
def test_other_bodies_are_refused(text: bytes, fields: list[str]) -> None:
    """A body that is no AdmissionReview is an error that names every field, never another exception."""
    with pytest.raises(ReviewError) as caught:
        Review.parse(text)

    assert fields == [str(error.path) for error in caught.value.errors]
