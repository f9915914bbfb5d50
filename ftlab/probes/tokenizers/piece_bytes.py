"""What pieces stand for in bytes, so that vocabularies in unlike writings compare."""

import re
from collections.abc import Mapping

from ftlab.probes.tokenizers.reader import Reader
from ftlab.probes.tokens.pieces import byte_table

_BYTE = re.compile("<0x[0-9A-F]{2}>")


def vocabulary_bytes(reader: Reader) -> dict[int, bytes]:
    """Return what each id of a tokenizer stands for.

    Where two pieces have one id, the last of them is told.

    Examples
    --------
    >>> from tokenizers import Tokenizer, decoders, models
    >>> from ftlab.probes.tokenizers.fast_reader import FastReader
    >>> from ftlab.probes.tokenizers.piece_bytes import vocabulary_bytes
    >>> made = Tokenizer(models.WordLevel({"Ġa": 0, "▁a": 1}, unk_token="Ġa"))
    >>> vocabulary_bytes(FastReader(made, made))[1]
    b' a'
    >>> made.decoder = decoders.ByteLevel()
    >>> vocabulary_bytes(FastReader(made, made))[0]
    b' a'
    """
    writing = reader.writing
    table = byte_table() if writing == "byte-level" else {}
    added = {int(each) for each in reader.added_tokens()}
    return {
        at: _bytes(str(piece), "" if at in added else writing, table)
        for at, piece in reader.vocabulary()
    }


def _bytes(piece: str, writing: str, table: Mapping[str, int]) -> bytes:
    if writing == "latin-1":
        return piece.encode("latin-1", "replace")
    if writing == "byte-level" and all(one in table for one in piece):
        return bytes(table[one] for one in piece)
    if _BYTE.fullmatch(piece):
        return bytes([int(piece[3:5], 16)])
    if writing == "text":
        piece = piece.replace("\u2581", " ")
    return piece.encode("utf-8", "surrogatepass")
