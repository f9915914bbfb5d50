r"""``exclude_modules=r".*mlp"``: it matches the mlp, and none of the layers inside.

The names of the layers go on after ``mlp``. PEFT sees that something was excluded (the
mlp itself, which carries no adapter anyway), and says nothing.

Fix: ``r".*mlp.*"``.
Source: huggingface/peft#2044 (the option); ``check_target_module_exists`` of peft.
"""

from ftlab.faults.builders import Case, Fault, base, lora, plain_case


def build(fixed: bool) -> Case:
    """Adapt all linear layers but those of the attention."""
    model = base()
    known = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    part = next(n for n in ("self_attn", "attn", "attention", "mixer") if n in known)
    wanted = rf".*\.{part}\..*" if fixed else rf".*\.{part}"
    model = lora(model, target_modules="all-linear", exclude_modules=wanted)
    return plain_case(model)


FAULT = Fault(
    "layers that were excluded carry adapters",
    code="ADP012",
    places=("config exclude_modules",),
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
