"""The exception tree."""

from __future__ import annotations

import re

from certs import errors


def test_the_drawn_tree_is_the_real_one() -> None:
    """Every exception is in the docstring, every drawn one exists, and all have the one root."""
    drawn = set(re.findall(r"\b\w+Error\b", errors.__doc__ or ""))
    defined = {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and value.__module__ == errors.__name__
    }

    assert drawn == set(defined)
    assert all(issubclass(value, errors.CertificateError) for value in defined.values())
