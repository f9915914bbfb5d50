"""LoRA on a base of eight bits (LLM.int8), its other parts in fp16.

``prepare_model_for_kbit_training`` is not called, and need not be: PEFT freezes the
base and keeps the adapters in float32, and there is no checkpointing.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, folder, llama, lora
from ftlab.faults.builders.loops import scaled_step


def build() -> Case:
    """Build LoRA on a Llama that is loaded in eight bits."""
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    small = llama()
    path = folder(small)
    small.save_pretrained(path)
    config = BitsAndBytesConfig(load_in_8bit=True)
    loaded = AutoModelForCausalLM.from_pretrained(
        path, quantization_config=config, dtype=torch.float16
    )
    model = lora(loaded, target_modules="all-linear")
    optimizer = adamw(model, lr=2e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    step = scaled_step(lambda batch: model(**batch).loss, optimizer, scaler)
    return Case(model, optimizer, batches(), step, scaler=scaler)


HEALTHY = Healthy(
    "weights of bytes, norms in fp16, gradients times 1024",
    looks_like=("GRD003", "ADP001", "GRD002"),
    needs=("bitsandbytes>=0.46",),
)
