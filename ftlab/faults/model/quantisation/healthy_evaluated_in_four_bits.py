"""QLoRA that is evaluated every 20 steps and saved, with the CPU's packing turned off.

A head and embeddings stay in floating point; ``llm_int8_skip_modules`` leaves out one
projection on purpose.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, llama, lora
from ftlab.faults.builders.around import every, loop_with
from ftlab.faults.builders.blocks import four_bit

EVERY = 20


def build() -> Case:
    """Build QLoRA with evaluations and checkpoints."""
    base = four_bit(
        llama(hidden_size=128).bfloat16(),
        llm_int8_skip_modules=["o_proj", "lm_head"],
        bnb_4bit_use_double_quant=True,
    )
    model = lora(base)
    optimizer = adamw(model)
    made = batches()

    def evaluate() -> None:
        model.eval()
        with torch.no_grad():
            model(**made[0])
        model.state_dict()
        model.train()

    return loop_with(model.train(), optimizer, made, before=every(EVERY, evaluate))


HEALTHY = Healthy(
    "evaluations and checkpoints between the steps of QLoRA",
    looks_like=("MOD001", "MOD003"),
    needs=("bitsandbytes>=0.46",),
)
