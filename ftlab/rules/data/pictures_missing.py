"""The rule DAT098, pictures-missing.

## What it does
Finds rows with a place for a picture in their text, and no picture.

## Why is this bad?
Collators count places and pictures: they raise, or give the row another row's picture.
Where neither happens, an answer about a picture is learnt without one.

## Evidence
`<image>` at the beginning or the end of a question, or on a line of its own, in a row
without a picture in a column (`image`, `images`, `video` ...) and among the parts of
its messages, in a dataset in which other rows have one. From 0.001 of the rows, a
convention of ours. A picture without a place is no fault: most templates write the
place. Where `images` is a list, rows with fewer pictures than places are told too.
By hand: `"<image>" in text and not row.get("images")`.

## What to try
1. Mend the join that has lost the pictures, or leave these rows out.

## Known problems
None is known. Texts about `<image>` do not stand alone with it.

## References
- haotian-liu/LLaVA, docs/Finetune_Custom_Data.md
- hiyouga/LlamaFactory#6135, #7640 ("less than the number of <image> tokens")
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "picture-missing",
        "a place for a picture, and no picture",
        "The picture was lost where texts and pictures were joined.",
        "Leave these rows out, or add their pictures.",
        left_out=True,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class PicturesMissing(RowRule):
    """Finds questions about a picture in rows that have none."""

    code = "DAT098"
    name = "pictures-missing"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
