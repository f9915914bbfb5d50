"""The rule DAT064, marks-in-content.

## What it does
Finds special tokens, marks by which speakers are told apart, and marks of other models
and programs, within the texts of a dataset; marks that were left before answers,
answers that go on with the next turn, and words of the page of a chat.

## Why is this bad?
A special token in a message becomes that one token: it ends the turn in the middle of a
sentence. Text that a template has rendered before gets all marks twice. A search for
the mark that begins answers begins the trained part there. The marks of another model
are words, which the trained one learns to write. So are marks before answers; and a
model that learns next turns asks itself.

## Evidence
Every text, for the special tokens of the tokenizer, for what the template writes around
messages, and for `### Response:` and its like. From 0.001 of the rows, a convention of
ours. In texts and pairs without messages marks above 0.5 of the rows are how these are
meant. Marks of pictures and sounds belong into texts. `foreign-mark-in-content`: what
well-known templates write around a message, where a message begins or ends with it, and
the tokenizer and its template know none; of pairs, ends alone. `citation-mark`:
`\u3010 \u2020 \u3011` around a source, `oaicite`. Both from 0.001. `mark-before-answer`
from 0.01, and not above 0.5, where it is the form: `Assistant:`, `AI:`, `Answer:`,
`Response:` before 20 characters and more, unless other labelled lines or headings
follow, or the prompt has the mark or asks for a talk; `### Response:` always.
`next-turn-in-answer` from 0.001, and not above 0.5: text, then a line `User:` or
`Human:`, then a line `Assistant:` or the like, in no block of code, behind no colon,
and to a prompt that does not speak of dialogues, chats, prompts or assistants.
`chat-page-words` from 0.001: in an answer, outside code, a line with the name of a
language and one with `Copy code` behind it, `ChatGPT` alone above a line of 40
characters, or `Regenerate response` and its like at the end, to a prompt that does not
speak of such pages.
`chatter-before-answer`, not above 0.5, is always a note: a first line as "Sure! Here's
a list:", which some answers have and others have not.
By hand: `tokenizer.all_special_tokens`, each with `in text`.

## What to try
1. Take the mark out of the text, or render all rows in the same way.
2. `split_special_tokens=True` where the tokenizer is called on messages.

## Known problems
Data about chat templates holds their marks on purpose.

## References
- huggingface/trl#456, #1183 (marks that are searched for)
"""

from ftlab.records.finding import Severity
from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import NEVER, Kind

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
        "mark-before-answer",
        "an answer that begins with the mark before answers",
        "Answers were cut out of written-out prompts or talks together with the mark: "
        "the model learns to write it.",
        "Take the mark away from the beginning of these answers.",
        0.01,
        0.5,
    ),
    Kind(
        "chatter-before-answer",
        "an answer that begins with a line to the reader, as others do not",
        "The model that wrote these answers said so before them (Sure! Here is ...): "
        "what reads the answers by a program reads this line as well.",
        "Take the first line away where the answer alone is wanted, or ask for it so.",
        NEVER,
        severity=Severity.INFO,
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
    Kind(
        "chat-page-words",
        "words of the web page that a chat was copied from",
        "Copied from the page with its buttons and names: the model learns to write "
        "them.",
        "Take the lines out; put code between fences again.",
    ),
    Kind(
        "citation-mark",
        "a mark that stood for a source",
        "Copied from a chat with sources: the mark points nowhere.",
        "Take the marks out.",
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
