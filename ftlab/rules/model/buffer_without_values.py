"""The rule MOD004, buffer-without-values.

## What it does
Finds buffers with uninitialized memory, or with values that differ from those of a
freshly built module, and parameters that are still on the meta device.

## Why is this bad?
A model built on `meta` and given memory with `to_empty` is filled by `load_state_dict`,
which says that all keys match. Buffers outside the state dict (the frequencies of a
rotary embedding) are never filled: the model outputs noise, or NaN.

## Evidence
Every buffer is checked when watching begins (*no-values*; what is still on the meta
device is *meta*): NaN, or magnitudes above 1e30, cannot be intended (masks of -inf or
of the lowest number are ignored). Modules that have no parameters and are built from a
configuration alone are built again on the CPU, and their buffers outside the state dict
compared: 2 % of the largest value are allowed, since bf16 rounds by 0.4 %. Rotary
embeddings that change with the length (dynamic, longrope) are not compared. Measured:
after `.bfloat16()` the frequencies of a rotary embedding are off by 0.02 % of the
largest (tiny Llama) to 0.18 % (64 frequencies, base 500,000).

## What to try
1. After `to_empty`, build the buffers again: `module.__init__(config)` of the rotary
   embedding, or `model.init_weights()` where the model offers it.
2. Load with `from_pretrained` instead of by hand: it does this.
By hand: `{n: b.isfinite().all().item() for n, b in model.named_buffers()}`, and compare
`inv_freq` with that of a model built without `meta`.

## Known problems
A custom buffer is only checked for impossible values; zeros there are not noticed.

## References
- huggingface/transformers#45902, NovaSky-AI/SkyRL#1709, hiyouga/LlamaFactory#10820
"""

from ftlab.rules.reading.needs import needs_model_facts
from ftlab.rules.rule import Finding, Results, Rule, Run, to_runs_with
from ftlab.rules.words import counted, in_words, listed


class BufferWithoutValues(Rule):
    """Finds buffers that nothing has filled, and tensors left on meta."""

    code = "MOD004"
    status = "stable"
    requires = needs_model_facts
    applies = to_runs_with(lambda run: "buffers" in run.facts.model)

    def check(self, run: Run) -> Results:
        """Yield a finding for buffers and one for tensors on meta."""
        facts = run.facts.model["buffers"]
        step = max(run.last_step, 0)
        if facts["bad"]:
            yield self._of_buffers(step, facts["bad"])
        if facts["meta"]:
            yield self._on_meta(step, facts["meta"])

    def _of_buffers(self, step: int, bad: dict[str, str]) -> Finding:
        words = [f"{name} {wrong}" for name, wrong in bad.items()]
        return self.error(
            f"step {step}: {counted(len(bad), 'buffer')} without sensible values: "
            f"{listed(words)}",
            cause="Nothing fills buffers outside the state dict after to_empty(), "
            "though load_state_dict reports that all keys match.",
            fix="Build these buffers again after to_empty(), or load the model with "
            "from_pretrained.",
            places={"param": bad, "call": "model.to_empty"},
            steps=(0, step),
            evidence={"buffers": len(bad), "threshold": 0.02, "reason": "no-values"},
            healthy="finite values, the same as in a freshly built module",
        )

    def _on_meta(self, step: int, names: list[str]) -> Finding:
        return self.error(
            f"step {step}: {counted(len(names), 'tensor')} on the meta device, where "
            f"nothing is stored: {in_words(names)}",
            cause="They were never given memory, and no offloading hook loads them.",
            fix="model.to_empty(device=...) and load their values, or load with "
            "low_cpu_mem_usage=False.",
            places={"param": names},
            steps=(0, step),
            evidence={"tensors": len(names), "threshold": 0, "reason": "meta"},
            healthy="every parameter and buffer has memory",
        )
