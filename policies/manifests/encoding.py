"""From bytes to text: UTF-8 and what else editors and shells write."""

from __future__ import annotations

import codecs

from policies.manifests.errors import DocumentError

#: Byte order marks, the longer first: UTF-32 starts as UTF-16 does.
_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: The first bytes of UTF-16 text without a mark: every manifest starts with ASCII.
_BARE_UTF16 = {(True, False): "utf-16-be", (False, True): "utf-16-le"}


def decoded(source: bytes, file: str) -> str:
    """Return the text of a file, byte order mark included if it has one.

    Raises:
        DocumentError: It is no text.
    """
    encoding = next((name for mark, name in _ENCODINGS if source.startswith(mark)), None)
    if encoding is None:
        zeros = (source[:1] == b"\0", source[1:2] == b"\0")
        encoding = _BARE_UTF16.get(zeros, "utf-8")
    try:
        return source.decode(encoding)
    except UnicodeDecodeError as error:
        raise DocumentError([f"{file}:{not_text(error)}"]) from error


def not_text(error: UnicodeDecodeError, *, lines_before: int = 0) -> str:
    """Return which bytes are no text, as ``line: problem``; some lines may stand before the bytes."""
    source: bytes = error.object
    line = lines_before + source.count(b"\n", 0, error.start) + 1
    found = source[error.start : error.start + 1].hex()
    return f"{line}: is not text: the byte 0x{found} is not valid {error.encoding.upper()}"
