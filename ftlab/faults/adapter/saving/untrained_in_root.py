"""A folder is loaded that holds the adapter that was not trained.

The one that was trained has a name of its own: PEFT saved it one folder below, and the
untouched "default" into the folder itself.

Fix: load the folder of its name, or save it alone with ``selected_adapters``.
Source: huggingface/peft#699, #1059 (what is in the folder of several adapters).
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, base, folder, lora_config, plain_case
from ftlab.faults.builders.saved import loaded, taught


def build(fixed: bool) -> Case:
    """Train an adapter beside another one, save both, and load one."""
    from peft import get_peft_model

    first: Any = get_peft_model(base(), lora_config(base()))
    first.add_adapter("sql", lora_config(base()))
    first.set_adapter("sql")
    bare = base()
    path = folder(bare)
    taught(first).save_pretrained(path)
    path = path / "sql" if fixed else path
    model = loaded(bare, path, is_trainable=True)
    return plain_case(model, lr=5e-3, adapter=path)


FAULT = Fault(
    "the adapter that was loaded adds nothing, although it was trained",
    code="ADP028",
    places=("file adapter keys",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
