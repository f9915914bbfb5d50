"""An adapter that was evaluated on a CPU and then merged: the merged model is noise.

The evaluation packed the 4-bit weights for inference. PEFT's merge reads the packed
bytes as if they had the usual layout.

Fix: set ``support_avx512bf16_for_cpu = False`` on every Linear4bit before the first
evaluation; and keep the adapter apart, or merge it into 16 bits: 4 bits round it away.
Source: bitsandbytes 0.50.2 and peft 0.21.2 (``dequantize_bnb_weight``); no report.
"""

import warnings

import torch

from ftlab.faults.builders import Case, Fault, batches, llama, lora, plain_case
from ftlab.faults.builders.blocks import four_bit


def build(fixed: bool) -> Case:
    """Build QLoRA that is evaluated and merged when training is over."""
    base = four_bit(llama(hidden_size=128).bfloat16(), packing=not fixed)
    model = lora(base)
    made = batches()

    def afterwards() -> None:
        model.eval()
        with torch.no_grad():
            model(**made[0])
        if fixed:
            return  # 4 bits lose an adapter anyhow: see merge-into-4bit
        # that merging into 4 bits rounds
        with warnings.catch_warnings(action="ignore"):
            model.merge_adapter()

    return plain_case(model.train(), rows=made, afterwards=afterwards)


FAULT = Fault(
    "the adapter is good, the merged model is noise",
    code="MOD001",
    places=("module *_proj", "call merge_adapter", "config packing_format_for_cpu"),
    steps=4,
    evident=3,
    needs=("bitsandbytes>=0.50",),
    cpu="avx512_bf16",
)
