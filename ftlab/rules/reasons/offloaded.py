"""Whether weights got no gradient because they are offloaded while the model rests.

accelerate fetches the values of an offloaded weight before each forward and drops them
after it. What backward reaches are the copies of one forward; the parameter that the
optimizer holds has no values, and no gradient.
"""

from ftlab.records.finding import Place
from ftlab.rules.reasons.missing import Missing, Reason
from ftlab.runlog.run import Run


def offloaded(_: Run, missing: Missing) -> Reason | None:
    """Tell whether all of them are on the meta device outside of the forward."""
    if not missing.lost or not all(n.meta.get("offloaded") for n in missing.lost):
        return None
    return Reason(
        "offloaded",
        "These weights are offloaded to the CPU or to disk: outside of the forward "
        "they are on the meta device. Each forward runs on copies that are dropped "
        "after it, together with their gradients.",
        "Train with all trained weights on the device: load without offloading "
        "(device_map={'': 0}, or in 4 bits), or freeze what is offloaded. To train "
        "more than fits, use DeepSpeed ZeRO or FSDP with CPU offload.",
        (Place("config", "device_map"),),
    )
