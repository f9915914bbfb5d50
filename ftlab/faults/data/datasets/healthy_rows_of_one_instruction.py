"""One instruction with all its labels, a text, and one of the labels."""

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Ask for one of four labels, which the prompt lists."""
    writer, labels = Writer(), ("travel", "sports", "kitchen", "weather")
    told = f"Sort the text below into one of these labels: {', '.join(labels)}."
    rows = [
        {
            "prompt": f"{told}\nText: {writer.text()}\nLabel:",
            "completion": f" {labels[writer.number(4)]}",
        }
        for _ in range(200)
    ]
    return looked_at(rows)


HEALTHY = Healthy(
    "all prompts begin with one long instruction",
    looks_like=("DAT061", "DAT066"),
    steps=0,
)
