"""The rule DAT063, text-damaged.

## What it does
Finds text that was read with a wrong encoding or written as JSON twice, characters that
nobody sees or the vocabulary lacks, letters spelt apart from their accents, special
tokens and other control strings within texts, and answers that go on with the next
turn.

## Why is this bad?
Damaged text becomes other tokens than what users type, two to four times as many, and
the model learns to write them; what the vocabulary lacks is one token for all of it. A
special token in a message ends the turn in the middle of a sentence, text that was
rendered before gets all marks twice, and a search for the mark that begins answers
begins the trained part there. A model that learns next turns asks itself.

## Evidence
Every character of every row. Shares are conventions of ours: below them rows are told
as a note. From 0.001 of the rows, unless another share is named.
- `broken-encoding`: U+FFFD, and what ftfy decodes to fewer and likelier characters. A
  capital letter and a quotation mark at a word's end prove nothing. It is meant where
  the prompt or the line speaks of encodings, or an answer has the line mended.
  `invisible-character` from 0.01: format and control characters that neither their
  script nor an emoji needs there; a row may name the very one that it holds (U+200B).
  `decomposed-letters` from 0.01: pairs that NFC makes one, unless the tokenizer does so
  itself. `escaped-text` from 0.01: a whole text in JSON's quotes and escapes, or line
  ends as a backslash and an n, outside quotes, in a text of one line: two of them, a
  doubled one, or one with an indented line behind it.
- `unknown-tokens`: more than 0.02 of a row's tokens; English text with a few names and
  emoji has less, rows in another script had 0.25 to 0.5 (measured).
- Special tokens of the tokenizer, what the template writes around messages, and
  `### Response:` and its like. In texts and pairs without messages marks above 0.5 of
  the rows are meant. Marks of pictures and sounds belong into texts.
  `foreign-mark-in-content`: what well-known templates write around a message, where a
  message begins or ends with it, and the tokenizer and its template know none; of
  pairs, ends alone. `next-turn-in-answer`, not above 0.5: text, then a line `User:` or
  `Human:`, then a line `Assistant:` or the like, in no block of code, behind no colon,
  and to a prompt that does not speak of dialogues, chats, prompts or assistants.

Measured on a byte-level vocabulary: texts of 7 and 10 tokens have 29 and 21 when read
with cp1252, and NFD doubles the tokens of Vietnamese words.
By hand: `text.encode("cp1252").decode("utf-8")`, `unicodedata.normalize("NFC", text)`,
each of `tokenizer.all_special_tokens` with `in text`.

## What to try
1. Read the source with `encoding="utf-8"`; `ftfy.fix_text` repairs what is there;
   `json.loads`, for what was not read back.
2. `unicodedata.normalize("NFC", text)`, on data and on prompts.
3. Take marks out of the text, or render all rows in the same way;
   `split_special_tokens=True` where the tokenizer is called on messages.
4. A tokenizer with bytes to fall back on, or leave these rows out.

## Known problems
Texts about wrong encodings or chat templates hold them on purpose.

## References
- ftfy's documentation, "fix_encoding"
- huggingface/tokenizers#2116 (NFD input becomes other tokens)
- Unicode Standard Annex #15; Unicode Technical Report #36 on hidden characters
- huggingface/trl#456, #1183 (marks that are searched for)
- ludwig-ai/ludwig#3897 (a model that learnt to write UNK)
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
        meant_above=0.5,
        among=("prompt and answer", "preference", "prompt"),
    ),
    Kind(
        "role-mark-in-content",
        "a mark by which speakers are told apart",
        "The text quotes a prompt; a search for the mark starts or ends the trained "
        "part there.",
        "Tell answers by the positions of messages, not by a search for the mark.",
        meant_above=0.5,
    ),
    Kind(
        "next-turn-in-answer",
        "an answer that goes on with the next question and its answer",
        "The model that wrote the answer was not stopped, and went on with the user's "
        "turn: a model trained on it asks and answers itself.",
        "Cut these answers where the user's turn begins; generate with its mark as a "
        "stop string.",
        meant_above=0.5,
    ),
    Kind(
        "foreign-mark-in-content",
        "a mark of another model's template around a message",
        "The texts were rendered for another model: to this one the mark is a word, "
        "which it learns to write.",
        "Take the marks out; the template of the trained model writes its own.",
    ),
    Kind(
        "unknown-tokens",
        "text that the vocabulary lacks, in more than 2 % of the tokens",
        "The vocabulary has no bytes to fall back on, and never saw these characters.",
        "A tokenizer with bytes to fall back on; or leave these rows out.",
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class TextDamaged(RowRule):
    """Finds text that was read wrongly, or holds what does not belong into it."""

    code = "DAT063"
    kinds = KINDS
