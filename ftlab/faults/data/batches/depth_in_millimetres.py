"""Pictures of 16 bits are handed to the model as they stand in the file.

Numbers up to 65,535 go into layers that were made for numbers around 0.

Fix: the model's processor, or a division by 65,535.

Source: general; the processors of transformers scale by 1/255.
"""

from ftlab.faults.builders import Case, Fault, pictures, plain_case, vit


def build(fixed: bool) -> Case:
    """Leave the pictures in whole numbers of 16 bits."""
    model = vit()
    rows = pictures()
    for row in rows:
        depth = (row["pixel_values"].sigmoid() * 65535).round()
        row["pixel_values"] = depth / 65535 if fixed else depth
    return plain_case(model, rows=rows)


FAULT = Fault(
    "pictures hold numbers up to 65,535",
    code="DAT005",
    places=("sample *",),
    steps=8,
)
