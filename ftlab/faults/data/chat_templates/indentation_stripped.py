"""The model writes code whose first line is not indented.

The chat template strips each message of its outer white space. Answers that go on with
a block of code lose the indentation of their first line, and of no other.

Fix: a template that does not strip, or code between fences.

Source: meta-llama/llama3#104 (a template with ``| trim``).
"""

from ftlab.faults.builders.chats import TEMPLATE, chats, supervised_on, tokenizer
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Train on blocks of code."""
    strips = TEMPLATE.replace("{{ m['content'] }}", "{{ m['content'] | trim }}")
    made = tokenizer(template=TEMPLATE if fixed else strips)
    talks = chats()
    for _, answer in talks:
        first, *rest = answer["content"].split()
        answer["content"] = f"    if {first}:\n        return {' '.join(rest)}"
    return supervised_on(made, talks)


FAULT = Fault(
    "code answers lose the indentation of their first line",
    code="DAT036",
    places=("data message 1 of row 0",),
    steps=2,
    evident=-1,
    needs=("trl>=0.24", "datasets"),
)
