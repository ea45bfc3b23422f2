"""Names of files as people give them, and as all that is said of them has it."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from policies.manifests.fields import shown

#: The name that means standard input.
STDIN: Final = "-"
#: What messages and reports call it, as ruff and kubectl do.
_SHOWN_STDIN: Final = "<stdin>"


def shown_file(name: str) -> str:
    """Return a file's name as messages use it: on one line.

    >>> shown_file("web.yaml"), shown_file("-")
    ('web.yaml', '<stdin>')
    """
    if name == STDIN:
        return _SHOWN_STDIN
    return name if name.isprintable() else shown(name)


def without_folder(name: str) -> str:
    """Return a file's name as what is sent around has it: no folder of the machine.

    >>> without_folder("/home/ann/shop.json"), without_folder("shop.json"), without_folder("-")
    ('shop.json', 'shop.json', '<stdin>')
    """
    return shown_file(PurePath(name).name)


def word_without_folder(word: str) -> str:
    """Return a word of a command without the folders of this machine that it may name.

    >>> [word_without_folder(word) for word in ("html=/home/ann/a.html", "manifests/web.yaml", "zone=a")]
    ['html=a.html', 'manifests/web.yaml', 'zone=a']
    """
    option, equals, value = word.rpartition("=")
    return f"{option}{equals}{PurePath(value).name}" if PurePath(value).is_absolute() else word
