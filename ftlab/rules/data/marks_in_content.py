"""The rule DAT064, marks-in-content.

## What it does
Finds special tokens, marks by which speakers are told apart, and marks of other models,
within the texts of a dataset; and answers that go on with the next turn.

## Why is this bad?
A special token in a message becomes that one token: it ends the turn in the middle of a
sentence. Text that a template has rendered before gets all marks twice. A search for
the mark that begins answers begins the trained part there. The marks of another model
are words, which the trained one learns to write; and a model that learns next turns
asks itself.

## Evidence
Every text, for the special tokens of the tokenizer, for what the template writes around
messages, and for `### Response:` and its like. From 0.001 of the rows, a convention of
ours. In texts and pairs without messages marks above 0.5 of the rows are how these are
meant. Marks of pictures and sounds belong into texts. `foreign-mark-in-content`: what
well-known templates write around a message, where a message begins or ends with it, and
the tokenizer and its template know none; of pairs, ends alone. `next-turn-in-answer`,
not above 0.5: text, then a line `User:` or `Human:`, then a line `Assistant:` or the
like, in no block of code, behind no colon, and to a prompt that does not speak of
dialogues, chats, prompts or assistants.
By hand: `tokenizer.all_special_tokens`, each with `in text`.

## What to try
1. Take the mark out of the text, or render all rows in the same way.
2. `split_special_tokens=True` where the tokenizer is called on messages.

## Known problems
Data about chat templates holds their marks on purpose.

## References
- huggingface/trl#456, #1183 (marks that are searched for)
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "special-token-in-content",
        "a special token of the tokenizer within a message",
        "The text was rendered by a template before, or a user wrote the token: it "
        "becomes one token, which opens or ends a turn in the middle of a message.",
        "Take the mark out of the text, or tokenise messages with "
        "split_special_tokens=True.",
    ),
    Kind(
        "special-token-in-text",
        "a special token of the tokenizer, which most rows do not hold",
        "Some texts were rendered by a template before.",
        "Take the mark out of the text, or render all rows in the same way.",
        0.001,
        0.5,
        among=("prompt and answer", "preference", "prompt"),
    ),
    Kind(
        "role-mark-in-content",
        "a mark by which speakers are told apart",
        "The text quotes a prompt; a search for the mark starts or ends the trained "
        "part there.",
        "Tell answers by the positions of messages, not by a search for the mark.",
        0.001,
        0.5,
    ),
    Kind(
        "next-turn-in-answer",
        "an answer that goes on with the next question and its answer",
        "The model that wrote the answer was not stopped, and went on with the user's "
        "turn: a model trained on it asks and answers itself.",
        "Cut these answers where the user's turn begins; generate with its mark as a "
        "stop string.",
        0.001,
        0.5,
    ),
    Kind(
        "foreign-mark-in-content",
        "a mark of another model's template around a message",
        "The texts were rendered for another model: to this one the mark is a word, "
        "which it learns to write.",
        "Take the marks out; the template of the trained model writes its own.",
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class MarksInContent(RowRule):
    """Finds control strings within messages."""

    code = "DAT064"
    name = "marks-in-content"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
