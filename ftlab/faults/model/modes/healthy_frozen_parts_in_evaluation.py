"""In each step what is frozen goes to evaluation mode, but for the adapter's layers.

The feed-forward parts hold no adapter: with them off, only the adapter drops anything.
"""

from ftlab.faults.builders import Case, Healthy, adamw, batches, gpt2, loop_with, lora
from ftlab.faults.builders.blocks import blocks


def build() -> Case:
    """Build LoRA with dropout on a GPT-2 with dropout of its own."""
    model = lora(gpt2(resid_pdrop=0.1, embd_pdrop=0.1), lora_dropout=0.2)
    optimizer = adamw(model)

    def before(_: int) -> None:
        model.train()
        model.get_base_model().transformer.drop.eval()
        for block in blocks(model):
            for part in ("ln_1", "ln_2", "mlp"):
                block.get_submodule(part).eval()

    return loop_with(model, optimizer, batches(), before=before)


HEALTHY = Healthy(
    "parts of the base are put into evaluation mode after each train()",
    looks_like=("MOD006",),
    steps=40,
)
