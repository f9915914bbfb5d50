"""Questions without answers, words with tags, and sentences that were right before."""

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.rows import Writer, looked_at
from ftlab.faults.task_rows import asked_about, named, tagged


def build() -> Case:
    """Correct two sentences of three, and leave the third as it is."""
    writer = Writer(1)
    corrected = []
    for at in range(120):
        right = writer.sentence()
        wrong = right if at % 3 == 0 else right.replace(" the ", " teh ")
        corrected.append({"source": wrong, "target": right})
    # each name begins with I, as of IOB1
    names = named(first="I-PER")
    numbers = [{"text": writer.text(), "labels": [0, 1][: at % 3]} for at in range(60)]
    return looked_at([*asked_about(), *tagged(), *names, *corrected, *numbers])


HEALTHY = Healthy(
    "rows-of-classic-tasks",
    "no answer, and answers that are their input",
    looks_like=("DAT061", "DAT066", "DAT099", "DAT100"),
    builder=build,
    steps=0,
)
