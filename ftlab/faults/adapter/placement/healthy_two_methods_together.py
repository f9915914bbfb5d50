"""Adapters of two methods in one model, active together; some layers carry both."""

from ftlab.faults.builders import Case, Healthy, llama, plain_case, set_seed


def build() -> Case:
    """Build LoKr on the attention, and LoRA on a part of it and the feed-forward."""
    from peft import LoKrConfig, LoraConfig, get_peft_model

    set_seed(1)
    attention = ["q_proj", "k_proj", "v_proj", "o_proj"]
    config = LoKrConfig(r=4, alpha=8, target_modules=attention)
    model = get_peft_model(llama(), config, adapter_name="wide", mixed=True)
    narrow = LoraConfig(r=4, target_modules=["v_proj", "down_proj"])
    model.add_adapter("narrow", narrow)
    model.set_adapter(["wide", "narrow"])
    return plain_case(model, lr=3e-3)


HEALTHY = Healthy(
    "adapter layers stand within adapter layers, and each configuration names a part",
    looks_like=("ADP014", "ADP012", "ADP008"),
)
