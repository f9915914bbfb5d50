"""The pretrained weights are loaded into the base after DoRA was put on it.

DoRA takes the norms of the weight's rows when it is put on. Weights that come later
are brought to the lengths of those that were there before.

Fix: load the weights first, then call get_peft_model.
Source: ml-explore/mlx-examples#832, with PEFT.
"""

import torch

from ftlab.faults.builders import Case, Fault, base, lora, plain_case


def build(fixed: bool) -> Case:
    """Build DoRA and load the weights before or after."""
    model, pretrained = base(seed=3), base()
    with torch.no_grad():
        for parameter in pretrained.parameters():
            parameter.mul_(2)
    if fixed:
        model.load_state_dict(pretrained.state_dict())
    model = lora(model, use_dora=True)
    if not fixed:
        loaded = pretrained.state_dict()
        held = model.base_model.model.state_dict()
        renamed = {n: n.replace(".base_layer.", ".") for n in held}
        chosen = {n: loaded[plain] for n, plain in renamed.items() if plain in loaded}
        model.base_model.model.load_state_dict(chosen, strict=False)
    return plain_case(model, lr=1e-3)


FAULT = Fault(
    "with DoRA the loss starts far above that of the base model",
    code="ADP043",
    places=("module *",),
    steps=4,
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
)
