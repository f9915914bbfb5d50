r"""``target_modules=r".*q_proj|v_proj"``: the second alternative matches no name.

PEFT compares a regular expression with the whole name of a module. ``.*`` stands before
the first alternative only, and half of the layers get no adapter without a word.

Fix: one group, ``r".*\.(q_proj|v_proj)"``.
Source: seed; huggingface/peft#2964, #3693 (entries that match nothing pass in silence).
"""

from ftlab.faults.builders import Case, Fault, attention, base, feed_forward, lora
from ftlab.faults.builders.loops import plain_case


def build(fixed: bool) -> Case:
    """Target two kinds of layers by one expression."""
    model = base()
    names = [attention(model)[0], feed_forward(model)[0]]
    wanted = rf".*\.({'|'.join(names)})" if fixed else rf".*\.{'|'.join(names)}"
    model = lora(model, target_modules=wanted)
    return plain_case(model)


FAULT = Fault(
    "fewer layers carry an adapter than the expression names",
    code="ADP012",
    places=("config target_modules",),
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
