"""QLoRA on a CPU learns until the first evaluation; then most adapters stand still.

A forward in eval mode packs the 4-bit weights for inference, for good. Training
forwards then use a kernel without a backward: the graph ends at every 4-bit layer.

Fix: set ``support_avx512bf16_for_cpu = False`` on every Linear4bit before training.
Source: bitsandbytes 0.50.2, ``nn/modules.py``: Linear4bit.forward; no report found.
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, llama, lora
from ftlab.faults.builders.around import at, loop_with
from ftlab.faults.builders.blocks import four_bit

EVALUATION = 3


def build(fixed: bool) -> Case:
    """Build QLoRA with one evaluation before the fourth step."""
    base = four_bit(llama(hidden_size=128).bfloat16(), packing=not fixed)
    model = lora(base, target_modules=["q_proj", "v_proj", "down_proj"])
    optimizer = adamw(model)
    made = batches()

    def evaluate() -> None:
        model.eval()
        with torch.no_grad():
            model(**made[EVALUATION])
        model.train()

    return loop_with(model.train(), optimizer, made, before=at(EVALUATION, evaluate))


FAULT = Fault(
    "QLoRA on a CPU learns only until the first evaluation",
    code="MOD001",
    places=("module *_proj", "op gemv_4bit", "param *_proj.lora_*"),
    steps=12,
    evident=EVALUATION,
    needs=("bitsandbytes>=0.50",),
    cpu="avx512_bf16",
)
