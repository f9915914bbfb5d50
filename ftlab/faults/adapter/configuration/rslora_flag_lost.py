"""An adapter trained with rsLoRA is loaded through a configuration without the flag.

The factor was alpha / sqrt(r) and is alpha / r now: the tensors are the right ones, and
the adapter acts with a fraction of its strength.

Fix: PeftModel.from_pretrained, with which the configuration travels, or use_rslora.
Source: NVIDIA/TensorRT-LLM#1668, vllm-project/vllm#6909, predibase/lorax#299.
"""

from safetensors.torch import load_file

from ftlab.faults.builders import Case, Fault, batches, current, lora
from ftlab.faults.builders.saved import saved, taught


def build(fixed: bool) -> Case:
    """Load tensors into an adapter that was configured by hand."""
    from peft import set_peft_model_state_dict

    trained = taught(lora(use_rslora=True, lora_alpha=current().rank))
    model = lora(use_rslora=fixed, lora_alpha=current().rank)
    path = saved(trained, model)
    tensors = load_file(path / "adapter_model.safetensors")
    set_peft_model_state_dict(model, tensors, current().adapter)
    return Case(model, batches=batches(), adapter=path)


FAULT = Fault(
    "the served adapter is much weaker than in training",
    code="ADP025",
    places=("config use_rslora", "config scaling"),
    steps=1,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
