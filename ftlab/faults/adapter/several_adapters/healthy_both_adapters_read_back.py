"""Two adapters are saved, and both are loaded: the untrained one first.

`from_pretrained` takes the folder itself, `load_adapter` the one below.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, base, lora_config, plain_case
from ftlab.faults.builders.saved import loaded
from ftlab.faults.builders.trainers import folder


def build() -> Case:
    """Train an adapter beside another one, save both, and load both."""
    from peft import get_peft_model

    model: Any = get_peft_model(base(), lora_config(base()))
    model.add_adapter("sql", lora_config(base()))
    model.set_adapter("sql")
    bare, path = base(), folder(model)

    def hand_over() -> Any:
        model.save_pretrained(path)
        again = loaded(bare, path)
        again.load_adapter(path / "sql", "sql")
        again.set_adapter("sql")
        return again

    return plain_case(model, lr=5e-3, afterwards=hand_over)


HEALTHY = Healthy(
    "the folder that is loaded holds an adapter of which every B is 0",
    looks_like=("ADP035", "ADP028"),
    steps=20,
)
