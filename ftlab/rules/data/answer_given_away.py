"""The rule DAT066, answer-given-away.

## What it does
Finds prompts in which the answer stands behind the same words in every row, or the
solution at the end; completions and pairs that begin with their whole prompt; and
summaries and translations that are their source.

## Why is this bad?
A label that can be read off the prompt is learnt at once, and is not there when the
model is used. A prompt that stands in the completion too is seen twice, and trained.
Of a summary that is its whole document, the model learns to copy.

## Evidence
`label-in-prompt`: short answers that follow the same words (`label: `, `class=`) in 0.9
of the prompts that have these words, in 5 rows at least, with two different answers at
least. Where few classes occur the share is held against how often the commonest class
would be right by chance. An answer that is copied out of the text, or stands among
options, follows other words each time; where it ends a prompt behind words that promise
one (`Answer: `, `Label: `), the options before it do not matter. Of answers of more
than 40 characters, only such words count (`Reference answer: `): a text may well be
repeated behind others. Labels in brackets at the beginning of 0.9 of the texts are told
as well, 50 rows at least; and so are words there of which each label has its own in 0.9
of them, as where the label is a number.
`solution-in-prompt`: what `solution`, `answer` or `ground_truth` holds ends the prompt,
on a line of its own or behind a question mark. 5 rows at least, a warning from 0.01;
not where more than 0.5 have it, nor where 0.05 of the other prompts end alike: a
solution of 40 characters with a line or block of its words and length, a shorter one
with a short line that is no sentence, as options are.
`prompt-in-completion`, and `prompt-in-pair` where chosen and rejected both hold the
prompt, or chosen alone: from 0.1 of the rows; a single one may quote. The prompt ends
as a sentence does or has several lines: what goes on with a title or a first line
repeats it. A prompt in rejected alone may be why it is rejected, and in messages
without a column `prompt` it is meant: both are not told.
`input-as-answer`: what is written of a text (a summary, a translation) is the text to
the letter, and a sentence: 5 words in small letters, 0.9 letters and spaces. From 0.01
of the rows; above 0.5 it is meant, and so it is where 0.05 of 50 other answers and more
are like their input (0.6 of its length, 0.5 of its words), as corrected and simplified
texts are; where most answers are shorter, texts below 200 characters are their own
summary. Measured: of a set of corrections all other answers are like their input, of 11
sets of translations and summaries 0.008 at most. The other bounds are conventions.
Beside an `instruction` an `input` is held against the others of the same instruction,
10 at least, and copies of more than 0.3 of them are meant; of 100 characters and more
it may be code.
By hand: `sum(row["completion"] in row["prompt"] for row in rows)`.

## What to try
1. Take the field out of the prompt.
2. `row["completion"].removeprefix(row["prompt"])`.
3. Have what is missing written, or leave such rows out.

## Known problems
Completions that are rewritten prompts and begin alike.

## References
- Kaufman et al., "Leakage in Data Mining", TKDD 2012
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import ALWAYS, Kind

KINDS = (
    Kind(
        "label-in-prompt",
        "the answer behind the same words of the prompt",
        "The column of the label was written into the prompt, most often with other "
        "data about the row: the model reads it off, and cannot when it is used.",
        "Take the field out of the prompt.",
        ALWAYS,
    ),
    Kind(
        "solution-in-prompt",
        "the solution at the end of its prompt",
        "Questions and solutions were joined into one text: a reward is given for "
        "copying.",
        "Take the solution off the prompt, or leave these rows out: "
        "report.filtered(path).",
        0.01,
        left_out=True,
    ),
    Kind(
        "prompt-in-completion",
        "the whole prompt once more in the completion",
        "The completion column holds the whole text: the prompt is then seen twice. "
        "What is nothing but the prompt was filled in with it, or is the same column.",
        "row['completion'].removeprefix(row['prompt']); leave out the rows of which "
        "nothing is left.",
        0.1,
    ),
    Kind(
        "prompt-in-pair",
        "the whole prompt once more in chosen, or in chosen and rejected",
        "The sides hold the whole text: trainings put the prompt before them again. "
        "Where one side alone holds it, the model learns to repeat its prompt.",
        "Take the prompt off: row['chosen'].removeprefix(row['prompt']); where both "
        "sides hold it, the column prompt can be left out instead.",
        0.1,
        among=("preference",),
    ),
    Kind(
        "input-as-answer",
        "the whole input once more as its answer, summary or translation",
        "What was missing was filled in with its source, as programs for translators "
        "do.",
        "Have these texts written, or leave the rows out: report.filtered(path).",
        0.01,
        0.5,
        left_out=True,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class AnswerGivenAway(RowRule):
    """Finds prompts that hold the answer, and answers that hold the prompt."""

    code = "DAT066"
    name = "answer-given-away"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
