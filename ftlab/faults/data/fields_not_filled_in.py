"""A template was not filled in: the answer is the name of its field.

Fix: fill the template in, or leave these rows out: ``report.filtered(path)``.

Source: general; `str.format` without its arguments.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs

FIELDS = ("{answer}", "{{ response }}", "[insert the answer here]", "<your answer>")
"""What is left of a template."""


def build(fixed: bool) -> Case:
    """Leave some fields as they are."""
    rows, broken = pairs(), one_in(12)
    for at in broken if not fixed else ():
        rows[at]["completion"] = FIELDS[at % len(FIELDS)]
    return looked_at(rows, spots=[f"row {at} completion character 0" for at in broken])


FAULT = Fault(
    "fields-not-filled-in",
    "the model answers with a name in braces",
    code="DAT091",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
