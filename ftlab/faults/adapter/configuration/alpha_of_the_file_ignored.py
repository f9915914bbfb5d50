"""An adapter is loaded into one that is there, which keeps its own alpha.

``load_adapter`` reads adapter_config.json for a new name only. The weights are the
file's, the factor is that of the configuration in the script.

Fix: delete the adapter before, or write the file's alpha into the script.
Source: read in peft 0.21.2 (``PeftModel.load_adapter``) and reproduced; its kin are
ml-explore/mlx-examples#622 and KadoBOT/ComfyUI-YuE2-Voices#17.
"""

from ftlab.faults.builders import Case, Fault, adamw, batches, current, lora
from ftlab.faults.builders.around import at, loop_with
from ftlab.faults.builders.saved import saved, taught

WHEN = 2


def build(fixed: bool) -> Case:
    """Build a loop that goes over to a trained adapter after some steps."""
    rank, name = current().rank, current().adapter
    model = lora(lora_alpha=2 * rank)
    trained = taught(lora(lora_alpha=(2 if fixed else 8) * rank), lr=2e-3)
    path = saved(trained, model)
    optimizer = adamw(model)

    def load() -> None:
        model.load_adapter(path, name, is_trainable=True)

    return loop_with(model, optimizer, batches(), before=at(WHEN, load))


FAULT = Fault(
    "a trained adapter has a quarter of its effect after it was loaded",
    code="ADP025",
    places=("config scaling", "module *"),
    evident=WHEN,
    families=("llama", "gpt2", "neox", "own"),
)
