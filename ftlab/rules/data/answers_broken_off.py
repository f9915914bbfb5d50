"""The rule DAT059, answers-broken-off.

## What it does
Finds answers that end in the middle of a sentence or of a block of code, that repeat
themselves until they end, or the answer before, that were cut at one number of tokens,
characters or words, and texts that lack the end mark of most others.

## Why is this bad?
What is trained behind such a text is an end that is none: the model learns to stop
anywhere, or where its teacher's `max_new_tokens` was.

## Evidence
A look at every row. `unfinished-answer`: 60 characters or more that end with an open
bracket, a comma, a word no English sentence ends with, or an open fence, or JSON whose
one fault is that it ends; in English prose, a sentence of which has a full stop, with
one that few sentences end with (a, of, to, is, in); from 0.01 of the rows, and not
above 0.5, where it is the style. Smileys, closings of letters, verse and what fills a
gap in code are left out. `looping-answer` from 0.01: the same words 6 times or more up
to the end, over 200 characters; lines, which may be a refrain, 16 times; tables, code,
and prompts that ask for the same again are left out; a line of a block of code, 6 times
right behind the end of the block, is told. `answer-said-again` from 0.01 and not above
0.5: 80 characters or more that are also the answer before, to another question that
does not ask for the same again. `answer-of-cut-length`: counted in tokens,
characters or words, the longest 1 % of the lengths holds 5 times as many answers as
other long ones, 60 % of them break off, and the others do so half as often at most; or
one length, of half of the answers at most, has 10 of them and 10 times as many as the
lengths around it, up to a tenth shorter or longer, and their number of words (of
characters, where words are counted) takes 4 values or more, as it does in prose and not
in codes. `missing-end-mark`: rows that do not end with a special token, where most do.
Shares of 0.001 and 0.01 are conventions of ours. What breaks off or loops in
`rejected`, or where a label is false, has a reason to be there, and is not told.
Measured: on the healthy sets of the tests, poems, tables, code and short answers among
them, none of the four speaks.

## What to try
1. Generate these answers anew with a higher `max_new_tokens`.
2. Leave them out: `report.filtered(path, drop=["unfinished-answer"])`.

## Known problems
Answers that are lists without full stops are told by their last word or bracket alone.
Words are English ones.

## References
- huggingface/trl#1623 (models that never end, or end anywhere)
- Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020 (loops)
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
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
        "looping-answer",
        "an answer that repeats itself until it ends",
        "The model that wrote it fell into a loop, and a limit ended it: the loop is "
        "what is learnt.",
        "Leave these rows out, or generate the answers anew, with sampling.",
        0.01,
        left_out=True,
    ),
    Kind(
        "answer-said-again",
        "an answer that was given to the question before, word for word",
        "The conversation was joined wrongly, or a service gave its last reply again.",
        "Cut these conversations before the repetition, or leave them out.",
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
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class AnswersBrokenOff(RowRule):
    """Finds answers that break off or loop, and texts without the others' end."""

    code = "DAT059"
    name = "answers-broken-off"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
