"""Which bodies are AdmissionReviews."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.recorded import recorded_reviews
from webhook.admission.review import MAX_VALUES, Review, ReviewError, UnreadableReviewError

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
        pytest.param(b'"\xff"', [""], id="invalid UTF-8"),
        pytest.param(b"[" * 100_000, [], id="100,000 brackets"),
        pytest.param(b'{"a":' * 5_000 + b"1" + b"}" * 5_000, ["apiVersion"], id="5,000 levels"),
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


def test_levels_that_no_one_reads() -> None:
    """An API server takes 10,000 levels of managedFields: a review says that it was read without them."""
    deep = b'{"f:a":' * 9_000 + b"{}" + b"}" * 9_000
    text = body(object={"metadata": {"managedFields": [{"fieldsV1": "deep"}]}, "spec": {"replicas": 1}})
    review = Review.parse(text.replace(b'"deep"', deep))

    assert review.obj is not None
    assert {"replicas": 1} == review.obj["spec"]
    assert review.cut


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(body(object={"a": [{}] * MAX_VALUES}), id="too many values"),
        pytest.param(body(object={}) + b",", id="a comma behind"),
        pytest.param(body(object=0).replace(b"0", b"1e999"), id="a number without bounds"),
        pytest.param(body(object={"a": "\ud800"}), id="half a pair"),
    ],
)
def test_reviews_that_cannot_be_read(text: bytes) -> None:
    """A review that cannot be read still has its uid and kind, with its blanks and without."""
    with pytest.raises(UnreadableReviewError):
        Review.parse(text)
    for begun in (text, text.replace(b": ", b":").replace(b", ", b",")):
        review = Review.of_beginning(begun)

        assert review is not None
        assert ("u", "Deployment", None) == (review.uid, review.kind, review.obj)


#: What keeps a review from being read, in place of a text in its object.
BROKEN = {
    "a number without bounds": b"1e999",
    "half a pair": b'"\\ud800"',
    "no JSON": b"[,}",
    "many values": b"[" + b"0," * MAX_VALUES + b"0]",
}


@pytest.mark.parametrize("what", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("turn", range(8))
def test_the_uid_stands_anywhere(turn: int, what: bytes) -> None:
    """Whatever order members have, it is known whose object cannot be read; what is in the object is not."""
    decoy = {
        "uid": "other",
        "kind": {"kind": "Other"},
        "spec": {"deep": {"er": "here"}},
        "object": {"uid": "x"},
    }
    members = list(json.loads(body(namespace="shop", object=decoy))["request"].items())
    request = dict(members[turn % len(members) :] + members[: turn % len(members)])
    rest = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    review = {"request": request, **rest} if turn % 2 else {**rest, "request": request}
    text = json.dumps(review).encode().replace(b'"here"', what)
    with pytest.raises(UnreadableReviewError):
        Review.parse(text)
    found = Review.of_beginning(text)

    assert found is not None
    assert ("u", "CREATE", "Deployment", "shop", None) == (
        found.uid, found.operation, found.kind, found.namespace, found.obj
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "known"),
    [
        pytest.param(body(userInfo={"extra": {"a": ["x"], "object": ["y"]}}, object={}), True, id="a group"),
        pytest.param(body(name=',"object":', object={}), True, id="a name"),
        pytest.param(b',"object":' * 100_000, False, id="nothing else"),
        pytest.param(body(uid="", object={}), False, id="no uid"),
        pytest.param(body(), True, id="no object"),
        pytest.param(
            body(object={"a": [0] * 2_000_000}) + b" " * 5_000_000, True, id="large, the object last"
        ),
    ],
)
def test_beginnings(text: bytes, *, known: bool) -> None:
    """Where the object begins is found, whatever stands before it."""
    assert known == (Review.of_beginning(text) is not None)
