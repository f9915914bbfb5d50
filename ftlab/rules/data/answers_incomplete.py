"""The rule DAT058, answers-incomplete.

## What it does
Finds rows of a dataset with an empty answer, question or text, with an answer that is
a missing value or reasoning alone, that breaks off, or that `max_length` cuts off.

## Why is this bad?
The model learns what it reads: to say nothing or `nan`, to think and stop, to stop
anywhere, or where its teacher's `max_new_tokens` was. A row that ends with a question
trains on the question, or on nothing; one whose end is cut off never ends.

## Evidence
A look at every row. All shares are conventions of ours: a few odd rows of many end no
pipeline, and are told as a note. From 0.001 of the rows unless another share is named.
- `empty-answer`, of a column `solution` `empty-solution`. A prompt that speaks of
  nothing, of what is blank or empty gets an empty answer. `empty-prompt`: above 0.1
  prompts are left empty on purpose. `empty-text` is always a note: files of plain text
  have blank lines. `question-without-answer` from 0.01; above 0.5 the rows are prompts
  (of GRPO, of generation), and nothing is told.
- `missing-value-as-answer`: whole answers such as `nan`, `None`, `null` or `#N/A`,
  where 0.9 of the others, of 20 at least, have more than 60 characters, to a prompt
  that does not speak of values, code or spreadsheets. `reasoning-never-closed`: an
  answer that begins with `<think>` and has no `</think>`. `reasoning-without-answer`:
  `<think>` alone, or nothing behind `</think>`; above 0.5 it is how rows are made.
- `unfinished-answer`, from 0.01 to 0.5, where it is the style: 60 characters or more
  that end with an open bracket, a comma behind a long line, an English word that no
  sentence ends with (`the`, `and`), or an open fence; or JSON whose one fault is that
  it ends. `answer-of-cut-length`: the longest 1 % of the lengths holds 5 times as many
  answers as other long ones, 60 % of them break off, and the others do so half as often
  at most; or one length within, of half of the answers at most, has 10 times as many as
  the lengths around it, a tenth shorter and longer. `missing-end-mark`: no special
  token at the end, where most rows have one.
- `answer-cut-off` by `max_length` from 0.05, `answer-cut-away` from 0.01, `huge-row`,
  whose tokens were estimated: the length of each row as the chat template writes it,
  checked on the first rows against the template itself. `text-cut-off`, of texts that
  no special token ends, is always a note: pre-training packs them, and loses none.

In `rejected`, or where a label is false, broken off or unanswered reasoning is a reason
to reject, and not told.
By hand: `collections.Counter(row["completion"] for row in rows).most_common(20)`, or
`len(tokenizer.apply_chat_template(row["messages"])) > max_length`.

## What to try
1. Mend the export: `frame.fillna("")` before `astype(str)`; write what is meant by
   saying nothing.
2. Generate these answers anew with a higher `max_new_tokens`; train with a higher
   `max_length` or shorter prompts.
3. Leave these rows out: `report.filtered(path, drop=["unfinished-answer"])`.

## Known problems
Calls of tools and pictures are answers, with an empty content; reasoning in a field of
its own is none. A missing value may be the right answer to a question about it. Lists
without full stops are told by their last word or bracket alone. Trainings that pack
rows by wrapping lose no tokens at `max_length`; their texts are split instead.

## References
- tatsu-lab/stanford_alpaca#265, TIGER-AI-Lab/MAmmoTH#36 (empty answers)
- pandas, `DataFrame.astype` (missing values become the text "nan")
- vllm-project/vllm#48865 (a reply without `</think>` becomes reasoning alone)
- huggingface/trl#1623 (models that never end, or end anywhere)
- TRL, `SFTConfig.max_length`; transformers, `truncation=True`
"""

from ftlab.records.finding import Severity
from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import NEVER, Kind

KINDS = (
    Kind(
        "empty-answer",
        "an empty answer",
        "An export has lost the answers: all that such a row teaches is to end at "
        "once.",
        "Leave these rows out, or write what is meant by saying nothing.",
        left_out=True,
    ),
    Kind(
        "empty-solution",
        "an empty solution",
        "An export has lost the solutions: a reward has nothing to compare answers "
        "with; where solutions are trained, the model learns to say nothing.",
        "Leave these rows out, or mend the export.",
        left_out=True,
    ),
    Kind(
        "empty-text",
        "an empty text",
        "Blank lines of a file were taken for rows, or an export has lost them.",
        "Leave these rows out.",
        NEVER,
        left_out=True,
    ),
    Kind(
        "empty-prompt",
        "an empty prompt",
        "An export has lost the questions: an answer to nothing is learnt.",
        "Leave these rows out, or mend the export.",
        meant_above=0.1,
    ),
    Kind(
        "question-without-answer",
        "a question at the end, and no answer",
        "The conversation was cut off, or its last message is a question.",
        "Cut these conversations behind their last answer, or leave them out.",
        0.01,
        0.5,
        left_out=True,
    ),
    Kind(
        "missing-value-as-answer",
        "a missing value that was written as an answer",
        "A missing answer became text: astype(str) writes nan, a spreadsheet #N/A.",
        "Leave these rows out; drop missing answers before they become text.",
        left_out=True,
    ),
    Kind(
        "reasoning-without-answer",
        "reasoning with no answer behind it",
        "The answer was cut by a limit behind its reasoning, or lost where the reply "
        "was divided: the model learns to think and to stop.",
        "Generate these answers anew with a higher max_new_tokens, or leave them out.",
        meant_above=0.5,
        left_out=True,
    ),
    Kind(
        "reasoning-never-closed",
        "reasoning whose end mark is missing",
        "The mark behind the reasoning was lost, and the answer stands in it; or a "
        "limit cut the answer while its writer was still thinking. The model learns "
        "not to close its reasoning.",
        "Where an answer stands at the end, write the mark (</think>) before it; "
        "generate the others anew with a higher max_new_tokens, or leave them out.",
        left_out=True,
    ),
    Kind(
        "unfinished-answer",
        "an answer that breaks off",
        "The answer was cut by a limit where it was generated or stored: a model "
        "trained on it learns to stop anywhere.",
        "Generate these answers anew with a higher max_new_tokens, or leave them out.",
        0.01,
        0.5,
    ),
    Kind(
        "answer-of-cut-length",
        "an answer that breaks off at the same length as others",
        "These answers were generated up to one number of tokens (max_new_tokens), or "
        "stored up to one number of characters or words, and cut there: a model "
        "trained on them learns to stop anywhere.",
        "Generate or export them anew with a higher limit, or leave them out.",
    ),
    Kind(
        "missing-end-mark",
        "no end mark, with which most of the others end",
        "Rows from another source, or cut off: where the end mark is missing, no end "
        "is learnt.",
        "Append the mark to these texts.",
    ),
    Kind(
        "answer-cut-off",
        "an answer whose end is cut off by max_length",
        "A row is cut off behind max_length, with the token that ends the answer.",
        "A higher max_length, or leave these rows out.",
        0.05,
    ),
    Kind(
        "answer-cut-away",
        "an answer that max_length cuts away whole",
        "Where only answers are trained, nothing of such a row is left.",
        "A higher max_length, shorter prompts, or leave these rows out.",
        0.01,
    ),
    Kind(
        "text-cut-off",
        "a text that goes on behind max_length",
        "Without packing, what stands behind max_length is not read.",
        "Packing, or cut the text into parts.",
        severity=Severity.INFO,
    ),
    Kind(
        "huge-row",
        "a text so long that its tokens were estimated",
        "A whole file or a picture in text form, most often.",
        "Cut the text into parts, or leave the row out.",
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class AnswersIncomplete(RowRule):
    """Finds answers that are missing, say nothing or break off."""

    code = "DAT058"
    kinds = KINDS
