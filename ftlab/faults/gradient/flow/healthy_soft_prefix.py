"""Prefix tuning: keys and values put before those of every layer.

All layers read one tensor; the model is fed a cache, and its own weights are frozen.
"""

from ftlab.faults.builders import Case, Healthy, llama, plain_case


def build() -> Case:
    """Build prefix tuning with a projection."""
    from peft import PrefixTuningConfig, get_peft_model

    config = PrefixTuningConfig(
        num_virtual_tokens=4, prefix_projection=True, task_type="CAUSAL_LM"
    )
    model = get_peft_model(llama(use_cache=True), config)
    return plain_case(model, lr=1e-2)


HEALTHY = Healthy(
    "no layer of the model has a trained tensor",
    looks_like=("GRD003", "ADP001"),
)
