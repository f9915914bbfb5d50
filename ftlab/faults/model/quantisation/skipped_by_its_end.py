"""A model in 4 bits needs more memory than it should: a fifth of it is in full.

``llm_int8_skip_modules=["up", "lm_head"]`` was meant for a module called ``up``. Such
entries match the ends of names as well (since transformers 5), and a group of
projections ends in it.

Fix: write whole names, with what stands before them: ``["adapter.up", "lm_head"]``.
Source: transformers `quantizers/quantizers_utils.py` (should_convert_module); measured.
"""

from ftlab.faults.builders import Case, Fault, base, feed_forward, lora, plain_case
from ftlab.faults.builders.blocks import four_bit
from ftlab.faults.builders.heads import head


def build(fixed: bool) -> Case:
    """Load a model in 4 bits with an entry that is too short."""
    model = base()
    end = feed_forward(model)[-1][-4:]
    skipped = [head(model), f"adapter.{end}" if fixed else end]
    model = lora(four_bit(model, llm_int8_skip_modules=skipped))
    return plain_case(model)


FAULT = Fault(
    "more layers are left out of the quantisation than was meant",
    code="MOD003",
    places=("param *layers.?.*.weight",),
    evident=-1,
    families=("llama", "neox"),
    needs=("bitsandbytes>=0.46", "transformers>=5"),
)
