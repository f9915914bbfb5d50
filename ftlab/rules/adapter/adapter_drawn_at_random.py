"""The rule ADP032, adapter-drawn-at-random.

## What it does
Finds LoRA adapters both of whose factors are random when training begins.

## Why is this bad?
LoRA begins as nothing: B is 0, and the first step starts from the pretrained model.
With a random B every adapted layer is disturbed before anything was learned. The loss
starts too high, the first steps undo the noise, and a reference with the adapter on is
not the base model.

## Evidence
At step 0, `b_l2` of each active and trainable pair whose A is not 0, against what
kaiming_uniform_ gives for a matrix of its shape, as nn.Linear draws it (deviation 1 /
sqrt(3 r)). A finding when all pairs fit within 4 standard errors of the norm (1 /
sqrt(2 n) for n elements). B of a trained adapter differs from layer to layer, and B of
PiSSA, OLoRA and CorDA follows the weight: neither fits. Measured: with
`init_lora_weights=False` 20 of 20 adapters fitted, of adapters trained for 1 to 50
steps and of PiSSA and OLoRA none.
By hand: `{n: float(p.std()) for n, p in model.named_parameters() if "lora_B" in n}`
before the first step: all 0 in a fresh adapter.

## What to try
1. Leave `init_lora_weights` at True; False does not mean "nothing special" but "draw
   both", and is there for tests.
2. In a layer of one's own: `torch.nn.init.zeros_(lora_B)`.

## Known problems
Adapters that were trained on before ftlab looked are not judged by their start. With a
single small pair a trained B may fit by chance. A B that was drawn by another law is
not found: three steps of Adam with 1e-2 leave the same norm as a normal law with 0.02.

## Known myths
"It makes no difference which factor is 0": nearly true, and both are fine. Only two
random ones disturb the model.

## References
- Hu et al. 2021, LoRA, section 4.1 (B = 0 at the start)
- huggingface/peft#2212 (what False means), hao-ai-lab/FastVideo#781,
  mflux-community/mflux#739 (B drawn at random)
- Hayou et al. 2024, arXiv:2406.08447 (A or B at 0)
"""

import math
from collections.abc import Callable, Iterator, Sequence

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.records.names import NameRecord
from ftlab.rules.lora import may_hold_lora
from ftlab.rules.rule import Rule, needs_column
from ftlab.rules.tensors import records_of
from ftlab.rules.words import counted, number
from ftlab.runlog.run import Run

ERRORS = 4.0
"""Standard errors of a norm within which it fits a law."""


Deviation = Callable[[int], float]

LAWS: dict[str, Deviation] = {
    "uniform as nn.Linear draws": lambda r: 1 / math.sqrt(3 * r),
}
"""How matrices of rank r are drawn, as the deviation of their elements."""


class AdapterDrawnAtRandom(Rule):
    """Finds adapters that disturb the model before they have learned."""

    code = "ADP032"
    name = "adapter-drawn-at-random"
    since = "0.1.0"
    status = "stable"
    requires = (
        needs_column(
            "b_l2",
            "the norms of LoRA's A and B",
            "watch a model with LoRA layers, with the standard probes",
            table="adapters",
        ),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether there are LoRA pairs."""
        return may_hold_lora(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all pairs."""
        a, b = run.matrix("a_l2", "adapters"), run.matrix("b_l2", "adapters").measured()
        if not len(b.steps) or b.steps[0] != 0:
            return
        tensors = run.names()
        norms: list[tuple[NameRecord, NameRecord, float]] = []
        for column, pair in enumerate(records_of(run, b.ids, "adapters")):
            factor = tensors.get(int(pair.meta.get("b", -1)))
            if factor is None or not pair.meta.get("active", True):
                continue
            if a.values[0, column] > 0:
                norms.append((pair, factor, float(b.values[0, column])))
        if norms and (law := _law_of(norms)):
            yield self._finding(run, norms, law)

    def _finding(
        self, run: Run, norms: Sequence[tuple[NameRecord, NameRecord, float]], law: str
    ) -> Finding:
        asked = [
            name
            for name, config in (run.facts.model.get("peft") or {}).items()
            if config.get("init_lora_weights") is False
        ]
        params = [Place("param", factor.name) for _, factor, _ in norms]
        config = Place("config", "init_lora_weights")
        names = [factor.name for _, factor, _ in norms]
        return self.finding(
            Severity.WARNING,
            f"step 0: B of {counted(len(norms), 'LoRA pair')} is random ({law}) and A "
            f"is not 0, first norm {number(norms[0][2])}: {in_words(names)}",
            cause="init_lora_weights=False draws both factors."
            if asked
            else "Both factors were drawn: by the layer's own initialisation, or by "
            "one that was run over the model afterwards.",
            fix="init_lora_weights=True."
            if asked
            else "torch.nn.init.zeros_(lora_B) where the adapter is made.",
            places=[config, *params] if asked else [*params, config],
            steps=(0, 0),
            evidence={
                "reason": law,
                "pairs": len(norms),
                "threshold": f"{ERRORS:g} standard errors",
            },
            healthy="B is 0 before the first step, or follows the weight (PiSSA)",
        )


def _law_of(norms: Sequence[tuple[NameRecord, NameRecord, float]]) -> str:
    """Name the law that fits all norms, or nothing."""
    for name, law in LAWS.items():
        if all(_fits(pair, factor, l2, law) for pair, factor, l2 in norms):
            return name
    return ""


def _fits(pair: NameRecord, factor: NameRecord, l2: float, law: Deviation) -> bool:
    rank, count = int(pair.meta.get("r", 0)), math.prod(factor.shape)
    if rank < 1 or count < 2:
        return False
    expected = law(rank) * math.sqrt(count)
    return abs(l2 / expected - 1) <= ERRORS / math.sqrt(2 * count)
