"""Line ends of the chat template are in no row, and in each prompt that is served.

Control tokens were added with ``rstrip=True``: the tokenizer takes white space behind
them away. An engine that serves the model tokenises the template's text as it stands.

Fix: ``AddedToken(..., rstrip=False)``.

Source: huggingface/transformers#35973, huggingface/tokenizers#1613.
"""

from ftlab.faults.builders.chats import chats, supervised_on, tokenizer
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Add the token that ends turns once more."""
    from tokenizers import AddedToken

    made = tokenizer()
    end = AddedToken("</turn>", rstrip=not fixed, normalized=False, special=True)
    made.add_special_tokens({"additional_special_tokens": [end]})
    return supervised_on(made, chats(), assistant_only_loss=True, max_steps=2)


FAULT = Fault(
    "the served model sees line ends that it has not seen in training",
    code="DAT038",
    places=("config tokenizer.added_tokens_decoder",),
    steps=2,
    evident=1,
    needs=("trl>=0.24", "datasets"),
)
