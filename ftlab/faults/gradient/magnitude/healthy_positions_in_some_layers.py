"""A SmolLM3 with biases on its keys, in which some layers leave the positions out.

Where queries and keys are turned by their positions a bias on the keys has an effect;
in the other layers softmax leaves it out, and its gradient is rounding noise.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, plain_case, set_seed, sizes


def build() -> Case:
    """Build the model and train all of it."""
    from transformers import SmolLM3Config, SmolLM3ForCausalLM

    set_seed(0)
    settings: dict[str, Any] = {"attention_bias": True, "num_hidden_layers": 4}
    turned = {"no_rope_layers": [1, 1, 1, 0]}
    model = SmolLM3ForCausalLM(SmolLM3Config(**(sizes() | settings | turned)))
    return plain_case(model)


HEALTHY = Healthy(
    "the keys' bias of one layer has a gradient a million times below the others'",
    looks_like=("GRD001", "NUM002"),
    steps=60,
)
