"""The adapter is merged by hand as ``W += B @ A``, without alpha / r.

The configuration's scaling is 2, and the merged model has half of what was trained.
With alpha = r nobody would have noticed.

Fix: ``merge_and_unload()``, or ``W += layer.get_delta_weight(name)``.
Source: hao-ai-lab/FastVideo#870, jingyaogong/minimind#598.
"""

from ftlab.faults.builders import Case, Fault, folder, lora, plain_case
from ftlab.faults.builders.hand_merges import exported, product, right


def build(fixed: bool) -> Case:
    """Build a LoRA run that ends with a merge of one's own."""
    model = lora()
    path = folder(model)

    def export() -> None:
        exported(model, right if fixed else product, path)

    return plain_case(model, lr=5e-3, afterwards=export)


FAULT = Fault(
    "the exported model has learnt half of what the adapter has",
    code="ADP009",
    places=("param *base_layer.weight",),
    steps=12,
    evident=11,
    families=("llama", "gpt2", "neox", "own"),
)
