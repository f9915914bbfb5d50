"""The rule DAT098, pictures-missing.

## What it does
Finds rows with more places for pictures than pictures, or fewer.

## Why is this bad?
Collators count places and pictures: they raise, or give the row another row's picture.
Where neither happens, an answer about a picture is learnt without one.

## Evidence
`<image>` at the beginning or the end of a question, or on a line of its own, in a row
without a picture in a column (`image`, `images`, `video` ...) and among the parts of
its messages, in a dataset in which other rows have one. From 0.001 of the rows, a
convention of ours. Where `images` is a list, places and pictures are counted: places
are parts of messages (`{"type": "image"}` that holds nothing else) or, where there are
none, `<image>` as above. `picture-not-placed`: fewer places than pictures, from 0.001,
and not above 0.5, where the one place stands for all. A row without any place is no
fault, for most templates write it.
By hand: `"<image>" in text and not row.get("images")`.

## What to try
1. Mend the join that has lost the pictures, or leave these rows out.

## Known problems
None is known. Texts about `<image>` do not stand alone with it.

## References
- haotian-liu/LLaVA, docs/Finetune_Custom_Data.md
- huggingface/trl, `prepare_multimodal_messages` (raises where the numbers differ)
- hiyouga/LlamaFactory#6135, #7640 ("less than the number of <image> tokens")
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "picture-missing",
        "more places for pictures than pictures",
        "A picture was lost where texts and pictures were joined.",
        "Leave these rows out, or add their pictures.",
        left_out=True,
    ),
    Kind(
        "picture-not-placed",
        "more pictures than places for them",
        "Parts or marks of the messages were lost, or pictures of another row were "
        "added: processors raise, leave the picture out, or show the model another one "
        "than the text is about.",
        "Leave these rows out, or write one part or mark for each picture.",
        meant_above=0.5,
        left_out=True,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class PicturesMissing(RowRule):
    """Finds rows in which places for pictures and pictures do not agree."""

    code = "DAT098"
    name = "pictures-missing"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
