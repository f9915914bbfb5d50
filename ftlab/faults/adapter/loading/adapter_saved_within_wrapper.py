"""An adapter's tensors were saved from the parallel wrapper.

``get_peft_model_state_dict`` of names that begin with ``module.`` gives keys that begin
so too: where the file is loaded into a plain model, no key is found.

Fix: save the unwrapped model, or drop ``module.`` from the keys.
Source: FareedKhan-dev/train-llm-from-scratch#37, huggingface/peft#2566.
"""

import warnings

from safetensors.torch import load_file, save_file

from ftlab.faults.builders import Case, Fault, base, plain_case
from ftlab.faults.builders.saved import loaded, saved, taught


def build(fixed: bool) -> Case:
    """Load an adapter whose keys begin with the wrapper's name."""
    trained, model = taught(), base()
    path = saved(trained, model)
    file = path / "adapter_model.safetensors"
    if not fixed:
        save_file(
            {f"module.{key}": each for key, each in load_file(file).items()}, file
        )
    with warnings.catch_warnings(action="ignore"):
        adapted = loaded(model, path, is_trainable=True)
    return plain_case(adapted, adapter=path)


FAULT = Fault(
    "the loaded adapter changes nothing",
    code="ADP026",
    places=("file adapter keys", "param *lora_*"),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
