"""The rule ADP032, adapter-drawn-at-random.

## What it does
Finds LoRA adapters both of whose factors are random when training begins, LoRA whose A
is random although it should be computed from data (EVA, LoRA-GA), IA3 whose vectors are
random, or 0, instead of 1, and adapters of other PEFT methods (LoHa, LoKr, OFT, BOFT,
VeRA, HRA, AdaLoRA, ...) that are fully random and change the model.

## Why is this bad?
LoRA starts without effect: B is 0, and the first step starts from the pretrained model.
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
steps and of PiSSA and OLoRA none. Where `init_lora_weights` is "eva" or "lora_ga"
(*not-computed*): B is 0, and A of all its pairs has the norm that the default draws,
sqrt(r / 3). EVA's own is sqrt(r), LoRA-GA's B is not 0. IA3 multiplies by its vectors,
so that 1 is nothing. A finding when, at step 0, mean and standard deviation of every
trainable vector are within 4 standard errors of 0 and 1, as `init_ia3_weights=False`
draws them, or every element is 0. Layers that somebody wrote (a frozen linear layer and
a trained product of low rank) are judged by the same law, where the first output is
more than 0.02 from the base's. Other methods are judged by what they do: at the first
forward the output of each layer against that of the layer under it, for the same input.
A finding when they are more than 0.02 apart, and the trained tensors of all layers are
as torch.nn.init draws them: within 4 standard errors of kaiming_uniform_ and within its
bound, or of a normal law with deviation 1, 0.5, 0.1, 0.02 or 0.01. Only for methods
whose own default is to begin at nothing. Where the configuration does say so, the
uniform law alone counts: tensors that were trained from 0 pass the normal ones.
Measured on a tiny Llama, distance of a layer's output with `init_weights=False`: LoHa
0.09, BOFT 0.27, HRA 0.7, OFT 0.8, LoKr 2, MiSS 5, VeRA 14, SHiRA 22, RandLoRA 150; 0
with True. Of 26 methods begun with True and trained for 20 steps none fitted. HRA with
an odd rank begins so by itself: it pairs its vectors, so that each undoes another, and
cannot where one is left over. Measured: 0.6 with r=7, 0 with r=8.
By hand: `{n: float(p.std()) for n, p in model.named_parameters() if "lora_B" in n}`
before the first step: all 0 in a fresh adapter. For any method: the logits against
those under `with model.disable_adapter():`, in evaluation mode.

## What to try
1. Leave `init_lora_weights` at True; False does not mean "nothing special" but "both
   random", and is meant for tests.
2. In a custom layer: `torch.nn.init.zeros_(lora_B)`.
3. EVA: `initialize_lora_eva_weights(model, loader)` after get_peft_model; LoRA-GA:
   `preprocess_loraga(model, config, step)` before it.
4. IA3: `init_ia3_weights=True`; its neutral value is `torch.nn.init.ones_`, not zeros_.
5. Other methods: `init_weights=True`; HRA: an even `r`.

## Known problems
Adapters that were trained before watching began are not judged by their start. With a
single small pair a trained B may fit by chance. A B from a different distribution is
not found: three steps of Adam with 1e-2 leave the same norm as a normal law with 0.02.
Other methods on quantised layers, several adapters at once, FRoD and TinyLoRA (whose
False leaves memory as it is) are not judged.

## Known myths
"It makes no difference which factor is 0": nearly true, and both are fine. Only two
random ones disturb the model. "Every fresh adapter begins as the base model": FourierFT
and C3A do not by their own defaults (measured: logits 1.3 and 0.1 away), as their
authors intend; they are not reported.

## References
- Hu et al. 2021, LoRA, section 4.1 (B = 0 at the start)
- huggingface/peft#2212 (what False means), hao-ai-lab/FastVideo#781,
  mflux-community/mflux#739 (B drawn at random)
- huggingface/peft#2142 (EVA), #2926 (LoRA-GA): both fall back to the default
- Hayou et al. 2024, arXiv:2406.08447 (A or B at 0)
"""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.lora import may_hold_lora
from ftlab.rules.reading.tensors import records_of
from ftlab.rules.reasons.computed_start import (
    COMPUTED,
    ERRORS,
    asked_init,
    not_computed,
)
from ftlab.rules.reasons.drawn_starts import APART, CAUSES, Drawn, drawn_adapters
from ftlab.rules.reasons.own_starts import own_drawn
from ftlab.rules.rule import Finding, Need, Place, Results, Rule, Run
from ftlab.rules.words import counted, in_words, number

Deviation = Callable[[int], float]

LAWS: dict[str, Deviation] = {
    "uniform as nn.Linear draws": lambda r: 1 / math.sqrt(3 * r)
}
"""How matrices of rank r are drawn, as the deviation of their elements."""


class AdapterDrawnAtRandom(Rule):
    """Finds adapters that disturb the model before they have learned."""

    code = "ADP032"
    status = "stable"
    requires = Need(
        "the norms of LoRA's A and B",
        "watch a model with LoRA layers, with the standard probes",
        lambda run: (
            "b_l2" in run.columns("adapters")
            or "off_one" in run.columns("vectors")
            or "second_l2" in run.columns("starts")
            or "off_law" in run.columns("drawn")
        ),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether there is anything that could be drawn."""
        known = any(run.names(table) for table in ("vectors", "starts", "drawn"))
        return known or may_hold_lora(run)

    def check(self, run: Run) -> Results:
        """Yield one finding for pairs, one for vectors, one for each other adapter."""
        pairs: list[Finding] = []
        if "b_l2" in run.columns("adapters"):
            pairs = list(self._pairs(run))
            yield from pairs
            for adapter, lost in not_computed(run).items():
                yield self._plain(run, adapter, lost)
        if "off_one" in run.columns("vectors"):
            yield from self._vectors(run)
        if own := own_drawn(run):
            yield self._finding(run, own, next(iter(LAWS)))
        for adapter, drawn in drawn_adapters(run).items():
            if not (pairs and drawn.setting == "init_lora_weights"):
                yield self._drawn(adapter, drawn)

    def _drawn(self, adapter: str, drawn: Drawn) -> Finding:
        cause, fix, setting = CAUSES[drawn.reason]
        words = {"setting": drawn.setting, "method": drawn.method}
        config = Place("config", setting.format(**words))
        params = [Place("param", name) for name in drawn.tensors]
        return self.warning(
            f"step 0: adapter {adapter} ({drawn.method}) is randomly initialized and "
            f"changes the output of {counted(len(drawn.layers), 'layer')} before it "
            f"has learned anything, by up to {number(drawn.furthest)}: "
            f"{in_words(drawn.modules)}",
            cause=cause.format(**words),
            fix=fix.format(**words),
            places=[*params, config]
            if drawn.reason == "drawn-again"
            else [config, *params],
            steps=(0, 0),
            reason=drawn.reason,
            evidence={
                "layers": len(drawn.layers),
                "off_base": drawn.furthest,
                "threshold": APART,
            },
            healthy="a fresh adapter does not change its layer's output",
        )

    def _pairs(self, run: Run) -> Iterator[Finding]:
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
        return self.warning(
            f"step 0: B of {counted(len(norms), 'LoRA pair')} is random ({law}) and A "
            f"is not 0, first norm {number(norms[0][2])}: {in_words(names)}",
            cause="init_lora_weights=False initializes both factors randomly."
            if asked
            else "Both factors are random: from the layer's own initialisation, or one "
            "that was run over the model afterwards.",
            fix="init_lora_weights=True."
            if asked
            else "torch.nn.init.zeros_(lora_B) where the adapter is created.",
            places=[config, *params] if asked else [*params, config],
            steps=(0, 0),
            reason=law,
            evidence={"pairs": len(norms), "threshold": f"{ERRORS:g} standard errors"},
            healthy="B is 0 before the first step, or computed from the weight (PiSSA)",
        )

    def _plain(self, run: Run, adapter: str, lost: Sequence[NameRecord]) -> Finding:
        method = asked_init(run, adapter)
        call = COMPUTED[method]
        return self.warning(
            f"step 0: A of {counted(len(lost), 'LoRA pair')} of adapter {adapter} has "
            f"the default random values, although init_lora_weights is {method!r}: "
            f"{in_words(name.name for name in lost)}",
            cause=f"{method!r} is computed from data by {call}, which was not called, "
            "or not for this model; PEFT then starts like ordinary LoRA.",
            fix=f"{call}(model, ...) with batches of the training data; see its "
            "documentation.",
            places={
                "config": "init_lora_weights",
                "call": call,
                "param": [name.name for name in lost],
            },
            steps=(0, 0),
            reason="not-computed",
            evidence={"pairs": len(lost), "threshold": f"{ERRORS:g} standard errors"},
            healthy="A of EVA has rows of length 1, A and B of LoRA-GA are not 0",
        )

    def _vectors(self, run: Run) -> Results:
        mean = run.matrix("vector_mean", "vectors").measured()
        if not len(mean.steps) or mean.steps[0] != 0:
            return
        spread = run.matrix("vector_spread", "vectors").measured()
        names = records_of(run, mean.ids, "vectors")
        sizes = np.array([max(int(name.meta.get("size", 1)), 1) for name in names])
        means, spreads = mean.values[0].astype(float), spread.values[0].astype(float)
        zero = bool(((means == 0) & (spreads == 0)).all())
        fits = abs(means) * np.sqrt(sizes) <= ERRORS
        fits &= abs(spreads - 1) * np.sqrt(2 * sizes) <= ERRORS
        if zero or bool(fits.all()):
            yield self._start(run, names, zero=zero)

    def _start(self, run: Run, vectors: Sequence[NameRecord], *, zero: bool) -> Finding:
        named = run.names()
        held = [named.get(int(vector.meta.get("param", -1))) for vector in vectors]
        names = [record.name for record in held if record is not None]
        params = [Place("param", name) for name in names]
        config = Place("config", "init_ia3_weights")
        return self.warning(
            f"step 0: {counted(len(names), 'vector')} of IA3 "
            f"{'are 0' if zero else 'are random around 0'} instead of 1: "
            f"{in_words(names)}",
            cause="IA3 multiplies activations by these: 0 removes them. The adapter "
            "was set to 0 to make it add nothing."
            if zero
            else "init_ia3_weights=False leaves the vectors random, half of their "
            "values below 0.",
            fix="torch.nn.init.ones_(vector), or reset_ia3_parameters(adapter)."
            if zero
            else "init_ia3_weights=True.",
            places=[*params, config] if zero else [config, *params],
            steps=(0, 0),
            reason="zeros" if zero else "normal",
            evidence={
                "vectors": len(names),
                "threshold": f"{ERRORS:g} standard errors",
            },
            healthy="every vector of a fresh IA3 is 1",
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
