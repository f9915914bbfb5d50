"""Some pictures are black, and at times all of a batch: texts without a picture.

Models that read pictures and texts are given an empty picture where there is none.
"""

from ftlab.faults.builders import Case, Healthy, pictures, plain_case, vit


def build() -> Case:
    """Blacken some pictures of each batch, and two whole batches in a row."""
    model = vit()
    rows = pictures()
    for number, row in enumerate(rows):
        some = slice(None) if number in (0, 1) else slice(2)
        row["pixel_values"][some] = 0.0
    return plain_case(model, rows=rows)


HEALTHY = Healthy(
    "pictures without anything on them, and whole batches of them",
    looks_like=("DAT005",),
    steps=24,
)
