"""The rule DAT057, rows-unreadable.

## What it does
Finds rows of a dataset that cannot be read, whose columns are not known, whose messages
no template can render, or that are the header of a table; and rows of token ids whose
ids, labels and mask do not fit together or the tokenizer.

## Why is this bad?
Loaders skip such rows, or end the run where the first one comes: hours after its start,
if the data is shuffled or streamed. Of token ids, a batch without labels has a loss of
nan; shifted twice, a model learns the token after the next; an id beyond the embedding
stops a GPU, and below it is another word.

## Evidence
A look at every row. An error where the reader, the template or the tokenizer fails:
`unreadable-row`, `unknown-columns`, `malformed-messages`, `half-character` (a lone
surrogate, which the fast tokenizers refuse with a TypeError). `header-as-row`: all
texts of a row, two at least, are the names of their columns, whatever the case.
Of token ids, `nothing-in-labels`, `labels-shifted` and `padding-in-labels` are warnings
from 0.01 of the rows, a convention of ours: of many rows a few are cut off before their
answer. Shifted: every label that counts is the id behind its place, and 3 or more
differ from the id at their place. Padding: two places or more with a label and an
`attention_mask` of 0; one may be an end that is to be learnt. The others are warnings
in any row. Ids are held against the highest one of the tokenizer; -200 is a picture's
place. Labels may differ in length from `input_ids`, as in models that read one text and
write another.
By hand: `json.loads` of the line, `tokenizer.apply_chat_template(row["messages"])`, or
`all(label == -100 for label in row["labels"])`.

## What to try
1. Write the rows anew from their source, with this tokenizer and a `max_length` that
   holds answers.
2. `report.filtered(path)` writes a copy without them.
3. Look at how labels are masked: `ftlab.tokens(dataset, tokenizer)` shows it.

## Known problems
Columns of one's own are unknown too: rename them, or map the rows to messages. Known
are conversations (`messages`, `conversations`), `prompt` and `completion`,
`instruction`, `input` and `output`, `question` and `answer`, and other pairs of that
sense; `chosen` and `rejected`; `text`; texts beside a `label`; and `input_ids`.
Loops that compare logits and labels place by place want shifted labels. A model whose
embedding was made larger has ids that its tokenizer need not have.

## References
- RFC 8259, section 8 (text of JSON is UTF-8, unpaired surrogates are unpredictable)
- Apache Parquet, file format (the footer, without which nothing can be read)
- huggingface/trl#980, unslothai/unsloth#2095 (all labels are -100)
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
    Kind(
        "nothing-in-labels",
        "no label that counts: all are -100",
        "The answer was cut off, or the words before it were not found.",
        "Leave these rows out, or mask the labels anew.",
        0.01,
        left_out=True,
        among=("tokens",),
    ),
    Kind(
        "labels-shifted",
        "labels that are shifted by one already",
        "labels[i] is input_ids[i + 1], and models of transformers shift labels "
        "themselves: the token after the next is what is learnt.",
        "Write labels as a copy of input_ids, with -100 where nothing is to be learnt; "
        "right as it is where your own loop does not shift.",
        0.01,
        among=("tokens",),
    ),
    Kind(
        "padding-in-labels",
        "labels of padding, which nobody attends to",
        "Labels were copied from the padded ids: the model learns to write padding.",
        "labels = [label if seen else -100 for label, seen in zip(labels, mask)].",
        0.01,
        among=("tokens",),
    ),
    Kind(
        "id-beyond-vocabulary",
        "an id that the tokenizer does not have",
        "The rows were made with another tokenizer, or tokens were added to it.",
        "Make the rows anew with the tokenizer of the training.",
        ALWAYS,
        among=("tokens",),
    ),
    Kind(
        "lengths-disagree",
        "a mask of another length than the ids",
        "The ids were cut or lengthened, and what stands beside them was not.",
        "Cut all columns alike, or make the rows anew.",
        ALWAYS,
        left_out=True,
        among=("tokens",),
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class RowsUnreadable(RowRule):
    """Finds rows that no loader, tokenizer or model takes, or that teach nothing."""

    code = "DAT057"
    kinds = KINDS
