"""QLoRA: a base of four bits, prepared, then LoRA on all its linear layers.

The base's weights are bytes in a shape of their own and never have a gradient; norms
and head are in float32, activations in bf16.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, folder, llama, lora, plain_case
from ftlab.faults.builders.loops import cast_loss


def four_bit(model: Any) -> Any:
    """Load ``model`` again, in four bits.

    The path of bitsandbytes for AVX512 packs weights for inference at the first
    evaluation and cuts the graph afterwards; it is turned off.
    """
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    path = folder(model)
    model.save_pretrained(path)
    config = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
    loaded = AutoModelForCausalLM.from_pretrained(path, quantization_config=config)
    for module in loaded.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False
    return loaded


def build() -> Case:
    """Build QLoRA in the right order, with checkpointing."""
    from peft import prepare_model_for_kbit_training

    model = prepare_model_for_kbit_training(
        four_bit(llama(hidden_size=128)),
        gradient_checkpointing_kwargs={"use_reentrant": False},
    )
    model = lora(model, target_modules="all-linear")

    return plain_case(
        model, lr=2e-3, loss_of=cast_loss(model, torch.bfloat16), clip=0.3
    )


HEALTHY = Healthy(
    "weights of bytes, four dtypes in one model",
    looks_like=("GRD003", "ADP001", "NUM002", "MOD029"),
    needs=("bitsandbytes>=0.46",),
)
