"""The rule DAT057, rows-unreadable.

## What it does
Finds rows of a dataset that cannot be read, whose columns are not known, whose messages
no template can render, whose text holds half of a character, or that are the header of
a table.

## Why is this bad?
Loaders skip such rows, or end the run where the first one comes: hours after its start,
if the data is shuffled or streamed.

## Evidence
A look at every row. One such row is an error: the reader, the template or the tokenizer
fails on it. Kinds: `unreadable-row`, `unknown-columns`, `malformed-messages`,
`half-character` (a lone surrogate, which the fast tokenizers refuse with a TypeError).
`header-as-row`, a warning: all texts of a row, two at least, are the names of their
columns, whatever the case.
By hand: `json.loads` of the line, or `tokenizer.apply_chat_template(row["messages"])`.

## What to try
1. Write the rows anew from their source.
2. `report.filtered(path)` writes a copy without them.

## Known problems
Columns of one's own are unknown too: rename them, or map the rows to messages. Known
are conversations (`messages`, `conversations`), `prompt` and `completion`,
`instruction`, `input` and `output`, `question` and `answer`, and other pairs of that
sense; `chosen` and `rejected`; `text`; texts beside a `label`; and `input_ids`.

## References
- RFC 8259, section 8 (text of JSON is UTF-8, unpaired surrogates are unpredictable)
- Apache Parquet, file format (the footer, without which nothing can be read)
"""

from ftlab.records.finding import Severity
from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import ALWAYS, Kind

KINDS = (
    Kind(
        "unreadable-row",
        "rows that cannot be read",
        "The file was cut off, written by two processes, or is of another format or "
        "encoding.",
        "Write these rows anew from their source, or leave them out: "
        "report.filtered(path).",
        ALWAYS,
        left_out=True,
        severity=Severity.ERROR,
    ),
    Kind(
        "unknown-columns",
        "no column that is known",
        "Known are messages or conversations, prompt and completion, prompt with "
        "chosen and rejected, instruction, input and output, question and answer, "
        "text, texts beside a label, and input_ids.",
        "Rename the columns, or map the rows: "
        "dataset.map(lambda row: {'messages': ...}).",
        ALWAYS,
        severity=Severity.ERROR,
    ),
    Kind(
        "malformed-messages",
        "messages that no template can render",
        "A conversation was stored as a text, a message has no role, or its content is "
        "neither text nor a list of parts.",
        "Store each conversation as a list of {'role': ..., 'content': ...}; "
        "json.loads reads one that is a text.",
        ALWAYS,
        left_out=True,
        severity=Severity.ERROR,
    ),
    Kind(
        "half-character",
        "a half of a character, which no tokenizer takes",
        "A text was cut within a character, or its escapes were.",
        "text.encode('utf-8', 'replace').decode() replaces it; or leave the row out.",
        ALWAYS,
        left_out=True,
        severity=Severity.ERROR,
    ),
    Kind(
        "header-as-row",
        "the names of the columns in place of a row",
        "Tables were joined with their headers: each header became a row.",
        "Leave these rows out: report.filtered(path).",
        ALWAYS,
        left_out=True,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class RowsUnreadable(RowRule):
    """Finds rows that are no rows, or that no tokenizer takes."""

    code = "DAT057"
    name = "rows-unreadable"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
