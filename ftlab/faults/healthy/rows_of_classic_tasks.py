"""Questions without answers, words with tags, and sentences that were right before."""

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.rows import Writer, looked_at
from ftlab.faults.task_rows import asked_about, named, tagged


def build() -> Case:
    """Correct two sentences of three, or one, and leave the others as they are."""
    writer = Writer(1)
    corrected = []
    for at in range(240):
        right = writer.sentence()
        wrong = right.replace(" the ", " teh ")
        if at % 2:
            corrected.append({"source": wrong if at % 3 else right, "target": right})
        else:
            corrected.append({"input": right if at % 3 else wrong, "output": right})
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
