"""The rule ADP013, experts-without-adapter.

## What it does
Finds mixtures of experts whose expert weights have no adapter although the feed-forward
layers, or all linear layers, were targeted.

## Why is this bad?
The experts are nearly the whole model. An adapter that was intended for them but is
only on the attention changes a tenth of the block; `print_trainable_parameters` shows a
small number, with nothing to compare it with.

## Evidence
The elements of expert weights that carry no adapter as a share of all matrices of the
blocks, against the configuration's targets. transformers 5 keeps the experts of a layer
in two three-dimensional parameters; names of linear layers (`gate_proj`, `up_proj`,
`down_proj`) do not match those. Reported when
- the share is at least 0.5 (measured with 8 experts: Mixtral 0.94, Qwen3-MoE 0.89), and
- an entry of `target_modules` names a feed-forward layer, or every linear layer of the
  blocks carries an adapter, and not all of them are the attention's. An adapter on the
  attention alone is a choice, and not reported.
By hand: `[(n, p.shape) for n, p in base.named_parameters() if p.ndim == 3]`.

## What to try
1. `target_parameters=["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]`.
2. If the experts should stay as they are, target only the attention; the list is then
   accurate.

## Known problems
Shared experts and routers count as other layers. Experts that are kept as modules, one
linear layer each, are found by target-without-match instead.

## Known myths
"all-linear leaves fused experts out": measured on peft 0.21.2 and transformers 5.23
with a Mixtral and a Qwen3-MoE, it becomes target_parameters for them, and for the
router too. A GPT-OSS gets none (peft 0.17.0 and 0.21.2): it looks like a list of the
attention's layers, and is not reported.

## References
- unslothai/unsloth#6936, #11014 (experts left frozen in silence)
- NVIDIA-NeMo/Automodel#1151, huggingface/peft#3711
"""

from collections.abc import Mapping, Sequence

from ftlab.rules.reading.module_roles import role_of
from ftlab.rules.reading.wiring import (
    Described,
    adapters,
    needs_wiring,
    param_places,
    steps_of,
    wiring,
)
from ftlab.rules.rule import Finding, Place, Results, Rule, Run
from ftlab.rules.words import in_words, number

SHARE = 0.5
"""Share of the blocks' elements from which experts are most of the model."""


class ExpertsWithoutAdapter(Rule):
    """Finds experts that were meant to be adapted."""

    code = "ADP013"
    status = "stable"
    requires = needs_wiring

    def check(self, run: Run) -> Results:
        """Yield one finding for all experts of the model."""
        blocks = wiring(run).get("blocks") or ()
        experts = [b for b in blocks if b["kind"] == "experts"]
        bare = [block for block in experts if block["adapted"] < block["count"]]
        share = sum(float(block["share"]) for block in bare)
        if not bare or share < SHARE:
            return
        linear = [block for block in blocks if block["kind"] == "linear"]
        for adapter, described, _ in adapters(run):
            counts = (described.get("asked") or {}).get("target_modules") or {}
            wanted = _wanted(counts, linear)
            if wanted and described.get("layers"):
                yield self._finding(run, adapter, bare, share, wanted)
                return

    def _finding(
        self,
        run: Run,
        adapter: str,
        bare: Sequence[Described],
        share: float,
        wanted: Sequence[str],
    ) -> Finding:
        names = [name for block in bare for name in block["names"]]
        return self.warning(
            f"step {steps_of(run)[0]}: the experts, {number(100 * share)} % of the "
            f"blocks' weights, have no adapter of {adapter}: {in_words(names)}; "
            f"targeted: {', '.join(wanted)}",
            cause="The experts of a layer are three-dimensional parameters here, not "
            "linear layers; target_modules does not match those, and PEFT does not "
            "warn since other targets match.",
            fix=f"target_parameters={sorted({_end(b['pattern']) for b in bare})}.",
            places=[
                Place("config", "target_modules"),
                *param_places(names),
                Place("config", "target_parameters"),
            ],
            steps=steps_of(run),
            evidence={
                "share_of_blocks": share,
                "threshold": SHARE,
                "experts_with_adapter": 0,
            },
            healthy="the expert weights have an adapter, or only the attention is "
            "targeted",
        )


def _wanted(counts: Mapping[str, int], linear: Sequence[Described]) -> list[str]:
    """Return what shows that the experts were meant: entries, or all linear layers."""
    entries = [entry for entry in counts if role_of(entry) == "feed-forward"]
    if entries:
        return entries
    attention = all(role_of(entry).startswith("attention") for entry in counts)
    everything = linear and all(b["adapted"] == b["count"] for b in linear)
    return ["all linear layers"] if everything and counts and not attention else []


def _end(pattern: str) -> str:
    """Keep of a pattern what stands behind its last number."""
    return pattern.rpartition("#.")[2]
