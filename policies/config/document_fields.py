"""Types of the fields of documents, with what their texts must look like.

A pattern reads a text once, whatever it holds, and must end at the text's real end (``$`` alone would let a
line break pass). The title says in words what it wants.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final, TypeAlias

from policies.manifests.wire import Form, Keywords
from policies.model.labels import SUBDOMAIN_LENGTH

#: A DNS label.
_LABEL: Final = "[a-z0-9]+(-+[a-z0-9]+)*"


def _form(pattern: str, title: str, most: int, **keywords: str) -> Keywords:
    return Keywords(pattern=rf"^{pattern}$(?!\n)", title=title, maxLength=most, **keywords)


#: A name of an object.
Name: TypeAlias = Annotated[
    str,
    _form(
        rf"{_LABEL}(\.{_LABEL})*",
        'a DNS subdomain: lower-case letters, digits, "-" and ".", as in "team-a.production"',
        SUBDOMAIN_LENGTH,
    ),
]
#: Names of objects, in which ``*`` stands for any characters.
NamePattern: TypeAlias = Annotated[
    str,
    _form(
        "[a-z0-9*]+([-.]+[a-z0-9*]+)*",
        'a name of objects: lower-case letters, digits, "-" and ".", with "*" for any characters',
        SUBDOMAIN_LENGTH,
    ),
]
#: Namespaces, in whose names ``*`` stands for any characters.
NamespacePattern: TypeAlias = Annotated[
    str,
    _form(
        "[a-z0-9*]+(-+[a-z0-9*]+)*",
        'a namespace: lower-case letters, digits and "-", with "*" for any characters',
        63,
    ),
]
#: A kind of objects.
KindName: TypeAlias = Annotated[str, _form("[A-Z][A-Za-z0-9]*", 'a kind, as in "Deployment"', 63)]
#: The id of a rule.
RuleId: TypeAlias = Annotated[
    str, _form("[a-z0-9]+(-[a-z0-9]+)*", 'a rule id, as in "max-skew-not-positive"', 63)
]
#: A day.
Day: TypeAlias = Annotated[
    date, Form(str), _form("[0-9]{4}-[0-9]{2}-[0-9]{2}", 'a date, as in "2027-01-31"', 10, format="date")
]
