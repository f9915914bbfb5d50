"""Texts of a trainer's dataset beside the ids that should have been made of them.

The first rows are read as they are stored, without the dataset's own transforms.
"""

from difflib import SequenceMatcher
from typing import Any

from ftlab.probes.tokens.pieces import text_tokenizer
from ftlab.probes.tokens.round_trips import draws
from ftlab.probes.tokens.template_survey import left_as_it_was

ROWS, TOKENS = 8, 256
"""First rows that are looked at, and tokens of each."""

LETTERS = 16 * TOKENS
"""Of a text, from which so many tokens are made."""

TEXTS = ("text", "content", "formatted_text")
"""Columns that hold what ids are made of."""


def retold(trainer: Any) -> dict[str, Any]:
    """Tell how much of the ids is what the run's tokenizer makes of the text beside.

    Returns
    -------
    dict
        Such as ``{"texts": {"rows": 8, "column": "text", "kept": [1.0, ...]}}``, a
        share for each row; empty where no text stands beside ids.
    """
    data = trainer.train_dataset
    inner = text_tokenizer(getattr(trainer, "processing_class", None))
    names = getattr(data, "column_names", None)
    held = names if isinstance(names, list) else []
    column = next((each for each in TEXTS if each in held), None)
    stored = hasattr(data, "with_format") and hasattr(data, "select_columns")
    if inner is None or column is None or "input_ids" not in held or not stored:
        return {}
    if draws(inner):
        return {}
    plain = data.with_format(None).select_columns([column, "input_ids"])
    rows = [plain[at] for at in range(min(ROWS, len(plain)))]
    with left_as_it_was(inner):
        kept = [_kept(row["input_ids"], row[column], inner) for row in rows]
    return {"texts": {"rows": len(rows), "column": column, "kept": kept}}


def _kept(ids: list[int], text: str, tokenizer: Any) -> float:
    """Return the share of tokens in common, of what is shorter."""
    settings = {"add_special_tokens": False, "truncation": False, "padding": False}
    made = list(tokenizer(text[:LETTERS], **settings)["input_ids"])[:TOKENS]
    held = list(ids)[:TOKENS]
    matcher = SequenceMatcher(None, held, made, autojunk=False)
    same = sum(each.size for each in matcher.get_matching_blocks())
    return same / max(min(len(held), len(made)), 1)
