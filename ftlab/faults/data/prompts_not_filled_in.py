"""The template of some prompts was not filled in: they ask about a name in braces.

Fix: ``prompt.format(context=text)``, which raises on a field that is missing.

Source: general; ``text.replace("{context}", ...)`` says nothing where it finds nothing,
and neither does an f-string that lost its f.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs

ASKED = "Answer by what the context says.\n\nContext:\n{context}\n\nQuestion: "
"""What is to be filled in."""


def build(fixed: bool) -> Case:
    """Leave a field in some prompts."""
    rows, broken = pairs(), one_in(12)
    for at, row in enumerate(rows):
        filled = fixed or at not in broken
        context = row["completion"] if filled else "{context}"
        asked = ASKED.replace("{context}", context)
        row["prompt"] = f"{asked}{row['prompt']}"
    field = ASKED.index("{")
    return looked_at(
        rows, spots=[f"row {at} prompt character {field}" for at in broken]
    )


FAULT = Fault(
    "prompts-not-filled-in",
    "the model makes up what the context might say",
    code="DAT091",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
