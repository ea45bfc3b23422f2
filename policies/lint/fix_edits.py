"""Several repairs of one text: which go together, and writing as many of them as can be written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policies.config.context import AdmissionContext
from policies.lint.workload_loader import ManifestWorkload
from policies.manifests.documents import Document
from policies.manifests.edits import Edit, apply_edits, merge_edits
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Location
from policies.manifests.kustomize_layers import TextKey
from policies.manifests.rewrite import RewriteRefusal, rewrite
from policies.model.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """One thing to fix."""

    location: Location  #: Where the problem is, in the text of its round.
    title: str  #: Kind and name of the object.
    path: FieldPath  #: The field, in the object.
    rule: str  #: The rule that found it, or ``inject``.
    message: str  #: What is wrong.
    text: TextKey  #: The text in which it is fixed.
    #: What fixes it, by the index of the text's document; paths start at the document.
    edits: tuple[tuple[int, Edit], ...]
    #: The workloads that change by it, each with its own edits: one, or those of several builds.
    objects: tuple[tuple[ManifestWorkload, tuple[Edit, ...]], ...]

    @property
    def first_document(self) -> int:
        """The index of the first document of the text that it changes."""
        return self.edits[0][0]

    def __str__(self) -> str:
        field_name = f"{self.path}: " if self.path.segments else ""
        return f"{self.location}: {self.title}: {field_name}{self.message} ({self.rule})"


class TextFixes:
    """One text in one round.

    Attributes:
        content: It, with what was fixed.
        made: What was fixed.
        refused: What could not be, and why.
    """

    def __init__(self, content: bytes, documents: Sequence[Document]) -> None:
        self.content = content
        self.made: list[Fix] = []
        self.refused: list[tuple[Fix, RewriteRefusal]] = []
        self._source = content
        self._documents = documents
        self._values = _values_of(documents)

    def make(self, repairs: list[Fix]) -> None:
        """Fix all at once if possible; otherwise parts of them, so that one in the way stops no other."""
        together = [*self.made, *repairs]
        outcome = rewrite(self._source, self._documents, self._by_document(together))
        if isinstance(outcome, bytes):
            self.content, self.made = outcome, together
        elif len(repairs) == 1:
            self.refused.append((repairs[0], outcome))
        else:
            for part in self._parts(repairs, outcome):
                self.make(part)

    def _parts(self, repairs: list[Fix], outcome: RewriteRefusal) -> Iterator[list[Fix]]:
        """Yield the fixes to try next; each try reads the whole file, so all documents are tried together.

        The only repair of a document that is in the way is refused at once.
        """
        of_document: dict[int, list[Fix]] = {}
        for repair in repairs:
            of_document.setdefault(repair.first_document, []).append(repair)
        stuck = [of_document.pop(index) for index in outcome.documents if index in of_document]
        if not stuck:
            middle = len(repairs) // 2
            yield from (repairs[:middle], repairs[middle:])
            return
        for document in stuck:
            if len(document) == 1:
                self.refused.append((document[0], outcome.documents[document[0].first_document]))
        several = [document for document in stuck if len(document) > 1]
        parts = (
            [repair for document in of_document.values() for repair in document],
            [repair for document in several for repair in document[: len(document) // 2]],
            [repair for document in several for repair in document[len(document) // 2 :]],
        )
        yield from filter(None, parts)

    def _by_document(self, repairs: Iterable[Fix]) -> dict[int, tuple[Edit, ...]]:
        """Return all edits by the index of the document."""
        merged: dict[int, tuple[Edit, ...]] = {}
        for repair in repairs:
            merged |= _merged(repair, self._values, merged) or {}
        return merged


def compatible_fixes(
    repairs: list[Fix],
    documents: Sequence[Document],
    context: AdmissionContext,
    refused: list[tuple[Fix, RewriteRefusal]],
    changed: dict[int, tuple[Edit, ...]],
) -> Iterator[Fix]:
    """Yield the repairs of one text that go together.

    Of two for one field the later one waits for the next round.

    Args:
        repairs: The repairs.
        documents: The text's documents.
        context: Policies, the release, the kinds.
        refused: Takes those that would make an object invalid.
        changed: Takes what becomes of objects in this round, by the identity of their entries.
    """
    taken: dict[int, tuple[Edit, ...]] = {}
    values = _values_of(documents)
    for repair in repairs:
        merged = _merged(repair, values, taken)
        objects = _merged_objects(repair, changed)
        if merged is None or objects is None:
            continue
        worse = (worse_for(entry, objects[id(entry)], context) for entry, _ in repair.objects)
        if problem := next(filter(None, worse), ""):
            refused.append((repair, RewriteRefusal(0, f"would make the object invalid: {problem}")))
            continue
        taken |= merged
        changed |= objects
        yield repair


def _values_of(documents: Iterable[Document]) -> dict[int, Any]:
    """Return the values of documents by their indexes."""
    return {document.index: document.value for document in documents}


def _merged(
    repair: Fix, values: Mapping[int, Any], before: Mapping[int, tuple[Edit, ...]]
) -> dict[int, tuple[Edit, ...]] | None:
    """Return the edits of a repair with those before, by the index of the document; None if they clash."""
    merged: dict[int, tuple[Edit, ...]] = {}
    for index in dict.fromkeys(index for index, _ in repair.edits):
        more = [edit for number, edit in repair.edits if number == index]
        edits = merge_edits(values[index], before.get(index, ()), more)
        if edits is None:
            return None
        merged[index] = edits
    return merged


def _merged_objects(
    repair: Fix, before: Mapping[int, tuple[Edit, ...]]
) -> dict[int, tuple[Edit, ...]] | None:
    merged: dict[int, tuple[Edit, ...]] = {}
    for entry, edits in repair.objects:
        together = merge_edits(entry.manifest.value, before.get(id(entry), ()), edits)
        if together is None:
            return None
        merged[id(entry)] = together
    return merged


def worse_for(entry: ManifestWorkload, edits: tuple[Edit, ...], context: AdmissionContext) -> str:
    """Return the first error of an edited object that it does not have now; empty for none."""
    edited = Workload.read(
        apply_edits(entry.obj, edits), entry.kind, entry.namespace, release=context.release
    )
    known = {(error.path, error.rule) for error in entry.errors}
    return next((str(error) for error in edited.errors if (error.path, error.rule) not in known), "")
