"""One picture holds NaN, and the loss is NaN when it comes up.

It was divided by its own deviation, which is 0 for a picture of one colour.

Fix: ``(picture - mean) / (deviation + 1e-6)``.

Source: general; transformers' feature extractors add 1e-7 for this reason.
"""

from ftlab.faults.builders import Case, Fault, pictures, plain_case, vit


def build(fixed: bool) -> Case:
    """Normalise pictures of which one has one colour."""
    model = vit()
    rows = pictures()
    rows[2]["pixel_values"][1] = 0.5
    for row in rows:
        pixels = row["pixel_values"]
        deviation = pixels.flatten(1).std(1).view(-1, 1, 1, 1)
        away = pixels - pixels.flatten(1).mean(1).view(-1, 1, 1, 1)
        row["pixel_values"] = away / (deviation + (1e-6 if fixed else 0.0))
    return plain_case(model, rows=rows)


FAULT = Fault(
    "the loss is NaN from the third step on",
    code="DAT005",
    places=("sample 1",),
    steps=8,
    evident=2,
)
