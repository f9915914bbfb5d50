"""A template that strips outer white space, of which no text needs any."""

from ftlab.faults.builders.chats import TEMPLATE, chats, supervised_on, tokenizer
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train sloppy texts, and code that begins at the margin."""
    strips = TEMPLATE.replace("{{ m['content'] }}", "{{ m['content'] | trim }}")
    made = tokenizer(template=strips)
    talks = chats()
    for number, (question, answer) in enumerate(talks):
        question["content"] = f"    {question['content']}\n"
        first, *rest = answer["content"].split()
        code = f"\n\nif {first}:\n    return {' '.join(rest)}\n"
        answer["content"] = code if number % 2 else f"  {answer['content']} \n"
    return supervised_on(made, talks)


HEALTHY = Healthy(
    "outer white space is not in the ids, and carries no meaning",
    looks_like=("DAT036",),
    steps=6,
    needs=("trl>=0.24", "datasets"),
)
