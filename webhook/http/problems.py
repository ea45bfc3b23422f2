"""The one shape of every HTTP error that Evenkeel sends, whichever layer notices it.

``{"error": "…", "details": [{"field": "…", "message": "…"}]}``. Knows no web framework, so that the
slim admission path, the Flask app and the gunicorn worker can share it.
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from policies.manifests.fields import FieldError

#: The media type of every error.
JSON = "application/json"


def problem(message: str, errors: Iterable[FieldError] = ()) -> bytes:
    r"""Return the JSON body of an error.

    >>> problem("no such page")
    b'{"error":"no such page","details":[]}\n'
    """
    details = [{"field": str(error.path), "message": error.problem} for error in errors]
    return orjson.dumps({"error": _encodable(message), "details": details}, option=orjson.OPT_APPEND_NEWLINE)


def _encodable(text: str) -> str:
    # Request lines and paths arrive as latin-1 or with surrogates; orjson takes valid Unicode only.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
