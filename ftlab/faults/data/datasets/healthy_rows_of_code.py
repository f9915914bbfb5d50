"""Answers are code: in closed fences, within others, or without any."""

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy

FORMS = (
    "```python\ndef f(x):\n\treturn x + N\n```",
    "Use this:\n\n```c\nint main(void)\n{\n\treturn N;\n}\n```\n\nThat is all.",
    "for (let i = 0; i < N; i++) {\n  console.log(`value ${i}`);\n}",
    "````markdown\n```sh\nmake N\n```\n````",
    "It has one head:\n\n```python\ndef f(x):\n```\n\nand returns N.",
    "```python\n>>> for x in range(N):\n...     print(x)\n0\n```",
    "def f(x): y = N if x else 0; return y",
    "```python\nimport math\n\nprint(math.sqrt(N))\n```",
    "SELECT name FROM towns WHERE size > N ORDER BY name",
)
"""Code as answers hold it."""


def build() -> Case:
    """Answer with code in several forms."""
    writer, rows = Writer(), []
    for at in range(200):
        code = FORMS[at % len(FORMS)].replace("N", str(writer.number(10_000)))
        rows.append({"prompt": writer.question(), "completion": code})
    return looked_at(rows)


HEALTHY = Healthy(
    "code with tabs, fences and open ends",
    looks_like=("DAT058", "DAT063"),
    steps=0,
)
