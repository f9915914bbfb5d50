"""A saved adapter is loaded to be trained further, with a new optimizer.

``is_trainable=True`` says so; B is not 0 before the first step, and the first loss is
far below that of the base.
"""

from ftlab.faults.builders import Case, Healthy, base, plain_case
from ftlab.faults.builders.saved import loaded, saved, taught


def build() -> Case:
    """Build a second training of an adapter."""
    model = base()
    path = saved(taught(steps=40), owner=model)
    again = loaded(model, path, is_trainable=True)
    return plain_case(again, adapter=path)


HEALTHY = Healthy(
    "the adapter is not 0 at the start, its configuration came from a file",
    looks_like=(
        "ADP001",
        "GRD003",
        "OPT001",
        "ADP027",
        "ADP028",
        "ADP023",
        "ADP024",
        "ADP025",
        "ADP026",
    ),
)
