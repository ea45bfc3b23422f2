"""Texts become objects; what is none is passed over, what is broken is told."""

from __future__ import annotations

import pytest

from policies.manifests.fields import FieldPath
from policies.manifests.skipped import SkipReason, SourceKind, in_groups
from webhook.lint import parse as parsing
from webhook.lint.files import Text
from webhook.lint.parse import parse, pieces

POD = b"apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"


@pytest.mark.parametrize(
    ("content", "objects", "notes", "problems"),
    [
        pytest.param(POD, 1, 0, 0, id="1 object"),
        pytest.param(POD + b"---\n" + POD, 2, 0, 0, id="2 documents"),
        pytest.param(b"\xef\xbb\xbf" + POD.replace(b"\n", b"\r\n"), 1, 0, 0, id="BOM and CRLF"),
        pytest.param((POD.decode()).encode("utf-16"), 1, 0, 0, id="UTF-16"),
        pytest.param(b"replicas: 1\n", 0, 0, 0, id="no object: not a word"),
        pytest.param(b"a: b: c\n", 0, 0, 0, id="broken, but nothing that could be an object"),
        pytest.param(b"kind: a\n  b: c: d\n", 0, 0, 1, id="broken"),
        pytest.param(b"kind: Job\n" + POD, 1, 0, 0, id="a key twice"),
        pytest.param(b"kind: Pod\nspec:\n\ta: 1\n", 0, 0, 1, id="a tab"),
        pytest.param(b"kind: Pod\n{{- if .x }}\na: 1\n{{- end }}\n", 0, 1, 0, id="a template: a note"),
        pytest.param(b"kind: Pod\nname: @NAME@\n", 0, 1, 0, id="a template of sed"),
        pytest.param(b"kind: Pod\nname: %s\n", 0, 1, 0, id="a template of printf"),
        pytest.param(b"kind: Pod\nip: {PREFIX}.16\n", 0, 1, 0, id="a template of format"),
        pytest.param(b"{extra}\nkind: Pod\n", 0, 1, 0, id="one in a line of its own"),
        pytest.param(b"kind: Pod\nimage: {images[web]}/1\n", 0, 1, 0, id="one with an index"),
        pytest.param(b"kind: Pod\nname: %s\n".replace(b"\n", b"\r\n"), 0, 1, 0, id="one with CRLF"),
        pytest.param(b"kind: Pod\na: '%s'\nb: c: d\n", 0, 0, 1, id="a placeholder elsewhere: broken"),
        pytest.param(b"kind: Pod\nb: c: d # @NAME@\n", 0, 0, 1, id="a placeholder in a comment: broken"),
        pytest.param(b"kind: Pod\nb: {c: d}e\n", 0, 0, 1, id="a mapping is none"),
        pytest.param(b"kind: List\nitems: [{kind: Pod, apiVersion: v1}]\n", 1, 0, 0, id="a List"),
        pytest.param(b"kind: List\nitems: [{kind: Pod, apiVersion: v1}, 1]\n", 1, 0, 1, id="a List with 1"),
        pytest.param(b"kind: List\nitems: [null, {kind: List, items: [a]}]\n", 0, 0, 2, id="a List in one"),
        pytest.param(b"apiVersion: v1\nkind: List\nitem: []\n", 1, 0, 1, id="a List without items"),
        pytest.param(b"apiVersion: v1\nkind: List\nitems: {a: 1}\n", 1, 0, 1, id="items that are no list"),
        pytest.param(b"apiVersion: v1\nkind: AllowList\nitems: [a]\n", 0, 0, 0, id="a List by name alone"),
        pytest.param(b"kind: Group\nspec: {template: {ports: {}}}\n", 0, 0, 0, id="no template of pods"),
        pytest.param(b"kind: [a]\n---\nkind: Pod\n", 0, 0, 0, id="kind without apiVersion"),
        pytest.param(
            b"kind: Pod\na: &a [1,1,1,1,1,1,1,1,1,1]\n"
            + b"".join(
                b"%s: &%s [%s]\n" % (new, new, b",".join([b"*" + old] * 10))
                for old, new in zip(b"a b c d e f".split(), b"b c d e f g".split(), strict=True)
            ),
            0, 0, 1, id="1,000,000 values of aliases",
        ),
    ],
)  # fmt: skip
def test_parse(content: bytes, objects: int, notes: int, problems: int) -> None:
    """A text of a folder gives objects, notes or problems."""
    parsed = parse(Text("a.yaml", content))

    assert (objects, notes, problems) == (len(parsed.objects), len(parsed.skipped), len(parsed.problems))


def test_templates_are_told_together() -> None:
    """Files that are skipped for the same cause are so in the same words."""
    texts = [
        Text("a.yaml", b"kind: Pod\n{{- if .x }}\n"),
        Text("b.yaml", b"a: 1\nkind: Pod\n\n{{ range }}\n"),
    ]

    assert 1 == len(in_groups(entry for text in texts for entry in parse(text).skipped))


def test_a_file_given_by_name_that_holds_nothing() -> None:
    """It is told, because somebody thought that it holds something."""
    (skipped,) = parse(Text("a.yaml", b"a: 1", named=True)).skipped

    assert ("a.yaml", SkipReason.NO_OBJECTS) == (skipped.location.file, skipped.reason)


@pytest.mark.parametrize(
    ("start", "field"),
    [
        pytest.param("apiVersion: apps/v1\nKind: Deployment", "kind", id="Kind"),
        pytest.param("kind: Deployment", "apiVersion", id="no apiVersion"),
        pytest.param("kind: Deployment\napiVersion: 1", "apiVersion", id="apiVersion 1"),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_an_object_that_says_half_of_what_it_is(start: str, field: str, *, named: bool) -> None:
    """It is an error wherever it stands, for nothing of it is checked."""
    parsed = parse(Text("a.yaml", f"{start}\nspec: {{template: {{spec: {{}}}}}}\n".encode(), named=named))

    assert ([field], [], []) == ([str(each.path) for each in parsed.problems], parsed.objects, parsed.skipped)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("apiVersion: evenkeel.dev/v1alpha1\nkind: Foo\n", [("kind", 2)], id="a kind"),
        pytest.param(
            "apiVersion: evenkeel.dev/v1\nkind: SpreadPolicy\n", [("apiVersion", 1)], id="a version"
        ),
        pytest.param("apiVersion: evenkeel.dev/v1\nkind: Foo\n", [("apiVersion", 1), ("kind", 2)], id="both"),
        pytest.param("apiVersion: evenkeel.dev/v1alpha1\nkind: LintConfig\n", [], id="a configuration"),
        pytest.param("apiVersion: v1.evenkeel.dev/v1\nkind: Foo\n", [], id="a group below it"),
    ],
)
def test_documents_of_evenkeel_itself(text: str, expected: list[tuple[str, int]]) -> None:
    """One of a kind or version that there is not would be read by nobody."""
    problems = parse(Text("a.yaml", text.encode())).problems

    assert expected == [(str(problem.path), problem.location.line) for problem in problems]


SECRET = (
    b"apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {a: 'ENC[AES256_GCM,data:x]'}\n"
    b"sops: {mac: 'ENC[AES256_GCM,data:y]', version: 3.9.0}\n"
)


@pytest.mark.parametrize(
    ("content", "tool", "title", "objects"),
    [
        pytest.param(b"\0GITCRYPT\0\xff\x01kind", "git-crypt", "", 0, id="git-crypt"),
        pytest.param(b"$ANSIBLE_VAULT;1.1;AES256\n3031\n", "Ansible Vault", "", 0, id="Ansible Vault"),
        pytest.param(b"-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n", "age", "", 0, id="age, armored"),
        pytest.param(b"age-encryption.org/v1\n-> X25519 x\n\xff", "age", "", 0, id="age"),
        pytest.param(b"\n-----BEGIN PGP MESSAGE-----\n\nhQ\n", "OpenPGP", "", 0, id="PGP, armored"),
        pytest.param(b"Salted__\xff\0", "OpenSSL", "", 0, id="OpenSSL"),
        pytest.param(SECRET, "SOPS", "Secret db", 0, id="SOPS"),
        pytest.param(POD + b"---\n" + SECRET, "SOPS", "Secret db", 1, id="SOPS: 1 document of 2"),
        pytest.param(POD + b"sops: {version: 1}\n", "", "", 1, id="a field of that name"),
    ],
)
def test_what_is_encrypted(content: bytes, tool: str, title: str, objects: int) -> None:
    """It is skipped as such, and is no error; what stands beside it is read."""
    parsed = parse(Text("a.yaml", content))

    assert (objects, []) == (len(parsed.objects), parsed.problems)
    assert ([(SkipReason.ENCRYPTED, f"encrypted with {tool}", title)] if tool else []) == [
        (entry.reason, entry.message, entry.title) for entry in parsed.skipped
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", SkipReason.EMPTY, id="0 bytes"),
        pytest.param(b" \n\n", SkipReason.EMPTY, id="blanks"),
        pytest.param(b"# a\n", SkipReason.NO_OBJECTS, id="a comment"),
    ],
)
def test_an_empty_pipe(content: bytes, reason: SkipReason) -> None:
    """The program that should have written to it has most likely failed."""
    (skipped,) = parse(Text("<stdin>", content, named=True, path="-")).skipped

    assert (SourceKind.STDIN, reason) == (skipped.kind, skipped.reason)


def test_the_namespace_of_a_release() -> None:
    """Objects without a namespace are applied to that of their release; others stay where they are."""
    text = Text("a.yaml", POD + b"---\n" + POD.replace(b"{name", b"{namespace: own, name"), namespace="prod")

    assert ["prod", "own"] == [entry.value["metadata"]["namespace"] for entry in parse(text).objects]


def test_lines_of_what_a_tool_made() -> None:
    """Nobody has the text, so a finding is about the file as a whole."""
    (entry,) = parse(Text("a.yaml", POD, rendered=True)).objects

    assert "a.yaml" == str(entry.location(FieldPath(("metadata", "name"))))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(POD + b"spec:\n\ta: 1\n", id="a tab"),
        pytest.param(POD + b"a: b: '{{ x }}'\n", id="braces that are left"),
        pytest.param(POD + b"a: &a [*a]\n", id="an alias in itself"),
    ],
)
def test_problems_of_what_a_tool_made(content: bytes) -> None:
    """A line of the output is never given as one of the template, and braces in it make it no template."""
    parsed = parse(Text("chart/templates/a.yaml", content, rendered=True))

    assert ["chart/templates/a.yaml"] == [str(problem.location) for problem in parsed.problems]
    assert "what it renders to" in parsed.problems[0].message
    assert not parsed.skipped


def test_keys_that_stand_twice_in_what_a_tool_made() -> None:
    """The file is known, a line is not."""
    (entry,) = parse(Text("a.yaml", b"kind: Job\n" + POD, rendered=True)).objects

    assert [("kind", 0, 0, False, "Job")] == [(str(key.path), *key[1:]) for key in entry.document.repeated]


def test_a_long_stream_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces end between documents, and together are the text with its lines."""
    monkeypatch.setattr(parsing, "PIECE", 100)
    stream = b"".join(b"---\n# %d\n%s" % (number, POD) for number in range(20)) + b"---\na:\n  - b: [\n"

    parts = list(pieces(Text("a.yaml", stream)))
    parsed = [parse(part) for part in parts]
    lines = [entry.location(FieldPath()).line for each in parsed for entry in each.objects]

    assert len(parts) > 5
    assert stream == b"".join(part.content for part in parts)
    assert [3 + 5 * number for number in range(len(lines))] == lines
    (problem,) = parsed[-1].problems
    assert problem.location.line >= 5 * 20


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'{"kind": "Pod"}' * 50, id="JSON"),
        pytest.param((b"---\n" + POD).decode().encode("utf-16") * 3, id="UTF-16"),
        pytest.param(
            b"%YAML 1.1\n" + (b"---\n" + POD) * 20, id="a directive, which holds for every document"
        ),
    ],
)
def test_what_is_not_cut(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """A text that cannot be read in parts stays whole."""
    monkeypatch.setattr(parsing, "PIECE", 100)

    assert 1 == len(list(pieces(Text("a.yaml", content))))
