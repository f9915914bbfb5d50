"""After an evaluation and a checkpoint, a 4-bit base on a CPU is wrong.

The evaluation packed the weights and turned the table of their scales; ``state_dict``
unpacks the bytes and leaves the scales as they are, in memory and in the file.

Fix: ``support_avx512bf16_for_cpu = False`` before the first evaluation, or
``bnb_4bit_use_double_quant=True``, whose scales are turned back.
Source: bitsandbytes 0.50.2, ``_convert_weight_packed_for_cpu_inverse``; no report.
"""

import torch

from ftlab.faults.builders import Case, Fault, batches, llama, lora, plain_case
from ftlab.faults.builders.blocks import four_bit


def build(fixed: bool) -> Case:
    """Build QLoRA that is evaluated and saved when training is over."""
    model = lora(four_bit(llama(hidden_size=128), packing=not fixed))
    made = batches()

    def afterwards() -> None:
        model.eval()
        with torch.no_grad():
            model(**made[0])
        model.state_dict()

    return plain_case(model.train(), rows=made, afterwards=afterwards)


FAULT = Fault(
    "after a checkpoint the loss jumps, without any update",
    code="MOD001",
    places=("module *_proj", "call state_dict", "config quant_state.absmax"),
    steps=4,
    evident=3,
    needs=("bitsandbytes>=0.50",),
    cpu="avx512_bf16",
)
