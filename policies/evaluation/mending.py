"""Several repairs of one file: which go together, and writing as many of them as can be written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from policies.edits import Edit, apply_edits, merge_edits
from policies.evaluation.context import AdmissionContext
from policies.evaluation.declaring import Declared
from policies.evaluation.subject import Subject
from policies.fields import FieldPath
from policies.findings import Location
from policies.manifests import Document, ManifestObject
from policies.rewriting import Refusal, rewrite


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """One thing to mend.

    Attributes:
        location: Where the problem stands, in the text of its round.
        title: Kind and name of the object.
        path: The field, in the object.
        rule: The rule that found it, or ``inject``.
        message: What is wrong.
        edits: What mends it; paths start at the object.
        entry: The workload.
    """

    location: Location
    title: str
    path: FieldPath
    rule: str
    message: str
    edits: tuple[Edit, ...]
    entry: Declared

    def __str__(self) -> str:
        field_name = f"{self.path}: " if self.path.segments else ""
        return f"{self.location}: {self.title}: {field_name}{self.message} ({self.rule})"


class Mending:
    """One file in one round.

    Attributes:
        content: Its content with what was mended.
        made: What was mended.
        refused: What could not be, and why.
    """

    def __init__(self, content: bytes, documents: Sequence[Document]) -> None:
        self.content = content
        self.made: list[Repair] = []
        self.refused: list[tuple[Repair, Refusal]] = []
        self._source = content
        self._documents = documents

    def make(self, repairs: list[Repair]) -> None:
        """Mend all at once if possible; otherwise parts of them, so that one in the way stops no other."""
        together = [*self.made, *repairs]
        outcome = rewrite(self._source, self._documents, _by_document(together))
        if isinstance(outcome, bytes):
            self.content, self.made = outcome, together
        elif len(repairs) == 1:
            self.refused.append((repairs[0], outcome))
        else:
            for part in self._parts(repairs, outcome):
                self.make(part)

    def _parts(self, repairs: list[Repair], outcome: Refusal) -> Iterator[list[Repair]]:
        """Yield what to try next; each try reads the whole file, so all documents are tried together.

        The only repair of a document that is in the way is refused at once.
        """
        of_document: dict[int, list[Repair]] = {}
        for repair in repairs:
            of_document.setdefault(repair.entry.manifest.document.index, []).append(repair)
        stuck = [of_document.pop(index) for index in outcome.documents if index in of_document]
        if not stuck:
            middle = len(repairs) // 2
            yield from (repairs[:middle], repairs[middle:])
            return
        for document in stuck:
            if len(document) == 1:
                index = document[0].entry.manifest.document.index
                self.refused.append((document[0], outcome.documents[index]))
        several = [document for document in stuck if len(document) > 1]
        parts = (
            [repair for document in of_document.values() for repair in document],
            [repair for document in several for repair in document[: len(document) // 2]],
            [repair for document in several for repair in document[len(document) // 2 :]],
        )
        yield from filter(None, parts)


def fitting(
    repairs: list[Repair], context: AdmissionContext, refused: list[tuple[Repair, Refusal]]
) -> Iterator[Repair]:
    """Yield the repairs that go together; of two for one field the later one waits for the next round."""
    taken: dict[int, tuple[Edit, ...]] = {}
    for repair in repairs:
        manifest = repair.entry.manifest
        before = taken.get(id(manifest), ())
        merged = merge_edits(manifest.value, before, repair.edits)
        if merged is None:
            continue
        if worse := worse_for(repair.entry, merged, context):
            refused.append((repair, Refusal(0, f"would make the object invalid: {worse}")))
            continue
        taken[id(manifest)] = merged
        yield repair


def worse_for(entry: Declared, edits: tuple[Edit, ...], context: AdmissionContext) -> str:
    """Return what would be wrong with an edited object that is not wrong with it now; empty for nothing."""
    subject = Subject.read(
        apply_edits(entry.manifest.value, edits), entry.subject.kind, entry.subject.namespace
    )
    known = {(error.path, error.rule) for error in entry.workload.errors}
    errors = subject.errors(subject.merge_state(subject), strict=context.strict)
    return next((str(error) for error in errors if (error.path, error.rule) not in known), "")


def _by_document(repairs: Iterable[Repair]) -> dict[int, list[Edit]]:
    """Return all edits by the index of the document, with paths from its root."""
    merged: dict[int, tuple[ManifestObject, tuple[Edit, ...]]] = {}
    for repair in repairs:
        manifest = repair.entry.manifest
        _, before = merged.get(id(manifest), (manifest, ()))
        merged[id(manifest)] = manifest, merge_edits(manifest.value, before, repair.edits) or before
    edits: dict[int, list[Edit]] = {}
    for manifest, changes in merged.values():
        lifted = (Edit(manifest.path + edit.path, edit.old, edit.new) for edit in changes)
        edits.setdefault(manifest.document.index, []).extend(lifted)
    return edits
