"""Pictures are scaled to 0..1 twice and made bytes again: all of them are black.

The dataset scales, the processor scales again and rounds. The loss falls to what the
frequencies of the classes allow.

Fix: ``do_rescale=False`` where the pictures are scaled already.

Source: transformers' image processors warn of pictures that look scaled already.
"""

from ftlab.faults.builders import Case, Fault, pictures, plain_case, vit


def build(fixed: bool) -> Case:
    """Scale bytes once, or twice with a cast in between."""
    model = vit()
    rows = pictures()
    for row in rows:
        scaled = row["pixel_values"].sigmoid()
        again = (scaled / 255).byte().float()
        row["pixel_values"] = scaled if fixed else again
    return plain_case(model, rows=rows)


FAULT = Fault(
    "all pictures are black, the loss falls to that of guessing",
    code="DAT005",
    places=("data pixel_values",),
    steps=8,
    evident=3,
)
