"""Answers speak of values, templates, encodings and escapes, or end oddly."""

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy

TALKS = (
    ("What does 0 / 0 give in JavaScript?", "NaN, which is equal to nothing."),
    ("How does Llama 2 mark a question?", "With [INST] before and [/INST] behind it."),
    ("How is a line end written?", "As \\n, within quotes: print('a\\n\\nb')."),
    ("How does HTML write quotes?", "As &quot; and &#39;, and & as &amp; there."),
    ("Mend it: Un caf\xc3\xa9 m\xc3\xa1s.", "Un caf\xe9 m\xe1s."),
    ("What do lost bytes become?", "\ufffd, which Unicode has for them, or '\ufffd'."),
    (
        "What is the gradient's symbol?",
        "$\\nabla$, and $\\nu$ is a frequency, $x \\neq y$.",
    ),
    ("Think aloud.", "<think>\nIt is easy.\n</think>\n\nIt is so."),
    (
        "Write to Ana.",
        "Dear Ana,\n\nthe report is done, as you wished.\n\nBest regards,",
    ),
    ("Tell me the news.", "We are not going to see each other before next week :("),
    (
        "Schreibe einen Satz.",
        "Es war schon dunkel, und so machte er endlich das Licht an",
    ),
    ("Escreva um t\xedtulo.", "O jornal escreveu: \u201cAT\xc9 AMANH\xc3\u201d"),
    ("Write a dialogue.", "Two of them talk.\n\nUser: Why?\nAssistant: For it is so."),
    ("What does f() return?", "None"),
    ("What is typeof x in JavaScript?", "undefined"),
    ("Which date is in it? Leave it empty if there is none.", ""),
)
"""Questions and right answers."""


def build() -> Case:
    """Answer about what spoils other rows."""
    writer, rows = Writer(), []
    for at in range(200):
        asked, answer = TALKS[at % len(TALKS)]
        if len(answer) > 60:  # of these, no two are the same
            answer = f"{writer.sentence()}\n\n{answer}"
        rows.append({"prompt": f"{writer.sentence()} {asked}", "completion": answer})
    return looked_at(rows)


HEALTHY = Healthy(
    "answers about values, templates, encodings and escapes",
    looks_like=("DAT058", "DAT063"),
    steps=0,
)
