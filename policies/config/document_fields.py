"""Types of the fields of documents, with what their texts must look like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Final, TypeAlias

from policies.manifests.wire import DocumentFields, Form, ParsedForm, TextForm
from policies.model.labels import SUBDOMAIN_LENGTH, LabelSelector, Operator

#: A DNS label.
_LABEL: Final = "[a-z0-9]+(-+[a-z0-9]+)*"

#: A name of an object.
Name: TypeAlias = Annotated[
    str,
    TextForm(
        rf"^{_LABEL}(\.{_LABEL})*$(?!\n)",
        'a DNS subdomain: lower-case letters, digits, "-" and ".", as in "team-a.production"',
        title="name",
        maxLength=SUBDOMAIN_LENGTH,
    ),
]
#: Names of objects, in which ``*`` stands for any characters.
NamePattern: TypeAlias = Annotated[
    str,
    TextForm(
        r"^[a-z0-9*]+([-.]+[a-z0-9*]+)*$(?!\n)",
        'a name of objects: lower-case letters, digits, "-" and ".", with "*" for any characters',
        title="names",
        maxLength=SUBDOMAIN_LENGTH,
    ),
]
#: Namespaces, in whose names ``*`` stands for any characters.
NamespacePattern: TypeAlias = Annotated[
    str,
    TextForm(
        r"^[a-z0-9*]+(-+[a-z0-9*]+)*$(?!\n)",
        'a namespace: lower-case letters, digits and "-", with "*" for any characters',
        title="namespace",
        maxLength=63,
    ),
]
#: A kind of objects.
KindName: TypeAlias = Annotated[
    str,
    TextForm(r"^[A-Z][A-Za-z0-9]*$(?!\n)", 'a kind, as in "Deployment"', title="kind", maxLength=63),
]
#: The id of a rule.
RuleId: TypeAlias = Annotated[
    str,
    TextForm(
        r"^[a-z0-9]+(-[a-z0-9]+)*$(?!\n)",
        'a rule id, as in "max-skew-not-positive"',
        title="rule",
        maxLength=63,
    ),
]
#: A day.
Day: TypeAlias = Annotated[
    date,
    Form(str),
    TextForm(
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$(?!\n)", 'a date, as in "2027-01-31"', title="date", format="date"
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelExpression(DocumentFields):
    """A condition on a label.

    Attributes:
        key: The label's key.
        operator: How the label is compared.
        values: Required with In and NotIn, left out with the others.
    """

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorDocument(DocumentFields):
    """Selects objects by their labels.

    Attributes:
        match_labels: Labels that must be there with these values.
        match_expressions: Conditions that must all hold.
    """

    match_labels: Mapping[str, str] = field(default_factory=dict)
    match_expressions: tuple[LabelExpression, ...] = ()


#: A label selector.
Selector: TypeAlias = Annotated[LabelSelector, ParsedForm(SelectorDocument)]
