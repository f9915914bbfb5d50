r"""``layers\.\d\.`` in ``target_modules``, and the model has more than ten blocks.

``\d`` is one digit. Blocks 10, 11, ... do not match and stay as they are.

Fix: ``layers\.\d+\.``.
Source: seed.
"""

from ftlab.faults.builders import Case, Fault, llama, lora, plain_case


def build(fixed: bool) -> Case:
    """Adapt the blocks of a model with twelve."""
    number = r"\d+" if fixed else r"\d"
    wanted = rf"model\.layers\.{number}\.self_attn\.(q|v)_proj"
    model = lora(llama(num_hidden_layers=12), target_modules=wanted)
    return plain_case(model)


FAULT = Fault(
    "the upper blocks have no adapter",
    code="ADP012",
    places=("config target_modules",),
    evident=-1,
)
