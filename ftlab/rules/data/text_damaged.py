"""The rule DAT063, text-damaged.

## What it does
Finds text that was read with a wrong encoding, characters that nobody sees, and letters
that are spelt apart from their accents.

## Why is this bad?
Each becomes other tokens than what users type, two to four times as many, and the model
learns to write them.

## Evidence
Every character of every row. `broken-encoding` from 0.001 of the rows: U+FFFD, or what
ftfy decodes to fewer and likelier characters. `invisible-character` from 0.01: format
and control characters that neither their script nor an emoji needs there.
`decomposed-letters` from 0.01: pairs that NFC makes one, unless the tokenizer does so
itself. The shares are conventions of ours: below them rows are told as a note.
Measured on a byte-level vocabulary: texts of 7 and 10 tokens have 29 and 21 when read
with cp1252, and NFD doubles the tokens of Vietnamese words.
By hand: `text.encode("cp1252").decode("utf-8")`, `unicodedata.normalize("NFC", text)`.

## What to try
1. Read the source with `encoding="utf-8"`; `ftfy.fix_text` repairs what is there.
2. `unicodedata.normalize("NFC", text)`, on data and on prompts.

## Known problems
Texts about wrong encodings hold them on purpose.

## References
- ftfy's documentation, "fix_encoding"
- Unicode Standard Annex #15; Unicode Technical Report #36 on hidden characters
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "broken-encoding",
        "text that was decoded with a wrong encoding",
        "UTF-8 was read as another encoding (mostly cp1252 or Latin-1), or bytes that "
        "could not be decoded were replaced.",
        "Read the source with encoding='utf-8', or repair the text with "
        "ftfy.fix_text; what was replaced by U+FFFD is lost.",
        left_out=True,
    ),
    Kind(
        "invisible-character",
        "characters that nobody sees and the tokenizer reads",
        "Copied from web pages or PDF files, or hidden on purpose.",
        "Take them out; keep joiners in emoji and where a script needs them.",
        0.01,
    ),
    Kind(
        "decomposed-letters",
        "letters and their accents spelt apart",
        "The text is in Unicode's NFD form (macOS file names, PDF files); users type "
        "NFC, which is other tokens.",
        "unicodedata.normalize('NFC', text), on the data and on prompts.",
        0.01,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class TextDamaged(RowRule):
    """Finds text that was decoded wrongly, or holds what nobody sees."""

    code = "DAT063"
    name = "text-damaged"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
