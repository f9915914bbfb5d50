"""The rule DAT100, answers-moved.

## What it does
Finds stretches of rows in which the answer of the row before, or of the row behind,
fits to a question, and its own one does not; answers that do not stand in their text
where `answer_start` says; translations whose sides were exchanged, and texts of another
script than that of their column.

## Why is this bad?
Every row looks right, and every answer is to another question: the model learns to say
anything, and the loss stays up. A place that is wrong is trained as the answer: the
model learns to mark other words.

## Evidence
Words of 6 letters and more that one prompt of 100 rows alone has. In the answers of one
neighbour they stand for 10 rows at least, and 4 times as often as in their own answers.
Answers that a prompt goes on with, as in talks that were cut into rows, are left out.
Or 20 in a part of these rows, 0.5 of it at least, with a tenth as many own ones, where
0.3 of the rows around have their own answer. About 20 stretches of a large dataset are
tried, and all rows where one is off: what was moved ends at 4 rows with own answers.
Measured: where answers were moved by a row, 19 of 100 prompts find a word in the
neighbour's and none in their own; on 69 healthy sets it is 6 of 100 at most, where 38
find one in their own. The bounds are conventions of ours between these.
`answer-not-in-place`: `context[start : start + len(text)]` is not the text, in
`answers` as SQuAD has them; letter case and white space may differ, and no answer is
one. From 0.001 of the rows, a convention of ours.
`sides-exchanged`: pairs of columns that are called by languages, or source and target,
in 0.95 of the rows, 100 at least. A word belongs to a side if it stands there in 5 rows
and 10 times as often as on the other one. Both texts have 2 words of the other side and
none of their own, in 3 rows at least and 0.3 of them at most. Measured on 34 sets of
700 messages each in two languages, near ones too (Danish and Norwegian, Czech and
Slovak): none is told; of 0.05 that were exchanged a fifth is found, and no other row.
`text-of-other-script`: a column that is called by a language, and has one script in 0.8
of its texts, 50 at least: a text of another one alone, 4 different letters and more,
which is not the Latin one, and of which the other side has no letter; names in Latin
letters may stand in it where the column has another script. Languages of two scripts
(Serbian, Uzbek) may have both. These bounds are conventions of ours.
By hand: print questions and answers of ten rows, and look where a name comes again.

## What to try
1. Join the columns anew, by a key and not by their order; look at the first row where
   it goes wrong: a line was lost, or read twice.
2. Move the answers back from there on.
3. `context.find(text)` gives the place where the text stands once.

## Known problems
Answers without words of their questions, classes and numbers, are not told; nor are
languages without spaces between words.

## References
- Northcutt et al., "Pervasive Label Errors in Test Sets", NeurIPS 2021
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import ALWAYS, Kind

KINDS = (
    Kind(
        "answer-of-neighbour",
        "an answer that fits to the row before or behind",
        "A line was lost in one of two files that were joined row by row: from there "
        "on each question has the answer of its neighbour.",
        "Join questions and answers by a key, or move the answers back by one row.",
        ALWAYS,
    ),
    Kind(
        "answer-not-in-place",
        "an answer that does not stand where answer_start says",
        "The text was cleaned, cut or translated, or places were counted in bytes or "
        "words.",
        "Look the answers up in their text: context.find(answer).",
        0.001,
    ),
    Kind(
        "sides-exchanged",
        "a translation whose source and target were exchanged",
        "Files of two directions were joined, or columns were named by hand.",
        "Exchange the two columns in these rows.",
        ALWAYS,
    ),
    Kind(
        "text-of-other-script",
        "a text of another script than its column",
        "A file of another language was joined, or a line was lost in one.",
        "Look where these texts came from; leave the rows out: report.filtered(path).",
        ALWAYS,
        left_out=True,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class AnswersMoved(RowRule):
    """Finds answers that belong to another row, or to another place of their text."""

    code = "DAT100"
    name = "answers-moved"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
