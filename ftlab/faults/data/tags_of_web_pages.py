"""Answers were copied from web pages, and kept the tags.

Fix: ``BeautifulSoup(text, "html.parser").get_text()``.

Source: general; dumps of questions and answers, whose bodies are HTML.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Keep the tags of some answers."""
    rows, broken = pairs(), one_in(12)
    for at in broken if not fixed else ():
        said = rows[at]["completion"].split(". ")
        rows[at]["completion"] = "".join(f"<p>{each}</p>" for each in said)
    return looked_at(rows, spots=[f"row {at} completion character 0" for at in broken])


FAULT = Fault(
    "tags-of-web-pages",
    "the model writes <p> and </p>",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
