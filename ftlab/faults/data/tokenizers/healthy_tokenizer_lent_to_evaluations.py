"""Evaluations pad on the other side, name a padding token, and use another template."""

from ftlab.faults.builders.chats import TEMPLATE, tokenizer
from ftlab.faults.builders.tokenizer_folders import between, loaded, looped
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Set the tokenizer up for a generation, and leave it so."""
    made = loaded(tokenizer())

    def lend() -> None:
        made.padding_side = "left"
        made.pad_token = made.eos_token
        made.chat_template = TEMPLATE.replace("{% generation %}", "").replace(
            "{% endgeneration %}", ""
        )

    return between(looped(made), 3, lend)


HEALTHY = Healthy(
    "a tokenizer changes while the run goes on, in nothing that gives ids",
    looks_like=("DAT070",),
    steps=20,
)
