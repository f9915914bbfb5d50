"""Control tokens that take white space with them, and a template that writes none."""

from ftlab.faults.builders.chats import TEMPLATE, chats, supervised_on, tokenizer
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Write turns one behind the other."""
    from tokenizers import AddedToken

    made = tokenizer(template=TEMPLATE.replace("\n", ""))
    marks = [
        AddedToken(each, rstrip=True, lstrip=True, normalized=False, special=True)
        for each in ("<turn>", "</turn>")
    ]
    made.add_special_tokens({"additional_special_tokens": marks})
    return supervised_on(made, chats())


HEALTHY = Healthy(
    "added tokens strip what stands beside them, and nothing does",
    looks_like=("DAT038",),
    steps=6,
    needs=("trl>=0.24", "datasets"),
)
