"""The rule DAT065, characters-not-in-vocabulary.

## What it does
Finds rows of a dataset in which more than 2 % of the tokens are unknown ones.

## Why is this bad?
What the vocabulary lacks is one token for all of it: it is trained as an answer, and
the loss of these rows is low for a wrong reason.

## Evidence
All texts through the tokenizer. Rows with more than 0.02 unknown tokens, from 0.001 of
the rows on; both are conventions of ours: English text with a few names and emoji has
less; rows in another script had 0.25 to 0.5 (measured, a vocabulary without bytes).
By hand: `tokenizer(text)["input_ids"].count(tokenizer.unk_token_id)`.

## What to try
1. A tokenizer with bytes to fall back on.
2. Leave these rows out.

## Known problems
None known: a tokenizer with bytes has no unknown tokens.

## References
- ludwig-ai/ludwig#3897 (a model that learnt to write UNK)
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "unknown-tokens",
        "text that the vocabulary lacks, in more than 2 % of the tokens",
        "The vocabulary has no bytes to fall back on, and never saw these characters.",
        "A tokenizer with bytes to fall back on; or leave these rows out.",
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class CharactersNotInVocabulary(RowRule):
    """Finds rows that are unknown tokens for a good part."""

    code = "DAT065"
    name = "characters-not-in-vocabulary"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
