"""The rule DAT063, text-damaged.

## What it does
Finds text that was read with a wrong encoding, characters that nobody sees, letters
that are spelt apart from their accents, and text that was written as JSON twice.

## Why is this bad?
Each becomes other tokens than what users type, two to four times as many, and the model
learns to write them.

## Evidence
Every character of every row. `broken-encoding` from 0.001 of the rows: U+FFFD, and what
ftfy decodes to fewer and likelier characters. A capital letter and a quotation mark at
a word's end prove nothing. It is meant where the prompt or the line speaks of
encodings, or an answer has the line mended. `invisible-character` from 0.01: format and
control characters that neither their script nor an emoji needs there; a row may name
the very one that it holds (U+200B). `decomposed-letters` from 0.01: pairs that NFC
makes one, unless the tokenizer does so itself. `escaped-text` from 0.01: a whole text
in JSON's quotes and escapes, or line ends as a backslash and an n, outside quotes, in a
text of one line: two of them, a doubled one, or one with an indented line behind it.
The shares are conventions of ours: below them rows are told as a note. Measured on a
byte-level vocabulary: texts of 7 and 10 tokens have 29 and 21 when read with cp1252,
and NFD doubles the tokens of Vietnamese words.
By hand: `text.encode("cp1252").decode("utf-8")`, `unicodedata.normalize("NFC", text)`.

## What to try
1. Read the source with `encoding="utf-8"`; `ftfy.fix_text` repairs what is there.
2. `unicodedata.normalize("NFC", text)`, on data and on prompts.
3. `json.loads`, for what was not read back.

## Known problems
Texts about wrong encodings hold them on purpose.

## References
- ftfy's documentation, "fix_encoding"
- huggingface/tokenizers#2116 (NFD input becomes other tokens)
- Unicode Standard Annex #15; Unicode Technical Report #36 on hidden characters
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "broken-encoding",
        "text that was decoded with a wrong encoding",
        "UTF-8 was read as another encoding, or bytes that could not be decoded were "
        "replaced.",
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
    Kind(
        "escaped-text",
        "line ends and quotes as JSON escapes them",
        "The text was written as JSON twice and read once: the model learns to write "
        "backslashes in place of line ends.",
        "Read it once more: json.loads(text), or text.replace('\\\\n', '\\n').",
        0.01,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class TextDamaged(RowRule):
    """Finds text that was read in a wrong way, or holds what nobody sees."""

    code = "DAT063"
    name = "text-damaged"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
