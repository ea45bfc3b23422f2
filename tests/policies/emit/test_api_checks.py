"""The syntax of labels in CEL and in Python."""

from __future__ import annotations

import celpy
from celpy.adapter import json_to_cel
from hypothesis import example, given
from hypothesis import strategies as st

from policies.emit.api_checks import is_label_key, is_label_value
from policies.model.labels import label_key_problems, label_value_problems

_ENVIRONMENT = celpy.Environment()
_KEY = _ENVIRONMENT.program(_ENVIRONMENT.compile(is_label_key("text")))
_VALUE = _ENVIRONMENT.program(_ENVIRONMENT.compile(is_label_value("text")))
_TEXTS = st.text(alphabet="aZ9-_./ é\n", max_size=12) | st.builds(
    lambda prefix, slash, name: "a" * prefix + slash + "b" * name,
    st.integers(0, 260), st.sampled_from(("", "/", ".b/", "//", "-/")), st.integers(0, 70),
)  # fmt: skip


@given(_TEXTS)
@example("a" * 253 + "/" + "b" * 63)
@example("a" * 254 + "/b")
@example("example.com/rev")
@example("app\n")
def test_labels(text: str) -> None:
    """They agree on what a key and a value may be."""
    given_text = {"text": json_to_cel(text)}

    assert (not label_key_problems(text)) == bool(_KEY.evaluate(given_text))
    assert (not label_value_problems(text)) == bool(_VALUE.evaluate(given_text))
