"""The rule ADP038, combination-off-its-sum.

## What it does
Finds adapters combined from others that are not the intended sum: several times too
strong, or without what DoRA, LoRA biases or modules_to_save have learned; and those
that were never used, while the model was run with a different adapter.

## Why is this bad?
Nothing fails, and the combined adapter does something like its sources. It is too
strong by a factor that grows with its rank, or lacks a part of them; continuing to
train it, or comparing combinations, uses a different adapter than intended.
`add_weighted_adapter` creates a new adapter but does not activate it: a following
evaluation measures the old one under the new one's name, and weights are chosen by
numbers that have nothing to do with them.

## Evidence
Of at most 4 layers: both factors of the adapter lie in what the factors of the adapters
before it span (at most 1 % of their norm lies outside; those of an adapter of its own
cannot, as the others span at most half of a layer's width). Its B A, scaling included,
is then regressed on theirs. Only adapters that are in use are judged.
- *overscaled*: PEFT folds the sources' scaling into the new factors and sets alpha to
  the rank, so that the new scaling is 1. With `use_rslora` of the first source taken
  over it is sqrt(r). A finding when it is so, and the weights sum up to 2 or more, or
  are round numbers (to 0.01) only after they were divided by that scaling. Weights that
  were divided by sqrt(r) on purpose are thus not reported.
- *magnitudes*: the sources' DoRA magnitudes differ from each layer's own norms, and
  those of the combination are these norms (within 1 %).
- *biases*: a source has `lora_bias` that is not 0, and that of the combination is 0.
- *heads*: a source has a copy of a module (`modules_to_save`, as every task head is)
  that is not what the base has, and the combination's is, bit for bit, or it has none.
- *never-active*: reported when watching ends, for the last combination: forwards
  without a graph after it, all of which ran other adapters. There is no threshold.
  Quiet where it was active in any forward, where any call names it (`set_adapter`, a
  merge, `delete_adapter`, `adapter_names=`), on a copy of the model too, where a state
  dict was taken or anything was written after it, where another one was combined (of
  it, perhaps), and where training went on. Measured, all eleven kinds of combination:
  the active adapter stays, and the logits are those of before, bit for bit.

Measured on peft 0.21.2 with two adapters of rank 8 and weights 0.5 and 0.5: *cat* gives
0.50 and 0.50 without rsLoRA and 2.0 and 2.0 with it, *svd* 0.38 and 0.40 (cut to rank
8) and 1.07 and 1.12, *linear* 0.50 and 0.50, and 1.41 and 1.40.
By hand: combine one adapter with weight 1.0; the logits must not change. See
`model.active_adapters` after `add_weighted_adapter`.

## What to try
1. Divide: `weights=[w / r**0.5 for w in weights]` with the new rank r, which is the sum
   of the ranks for "cat" and the largest for the others.
2. For this session only: `layer.set_scale(name, 1 / r**0.5)` on every layer.
3. With DoRA or lora_bias: merge each adapter into a copy of the base and average these.
4. A head: `copies = module.modules_to_save`, and
   `copies[new].load_state_dict(copies[old].state_dict())`.
5. `model.set_adapter(name)` before the evaluation; for one call
   `model(**batch, adapter_names=[name] * rows)`.

## Known problems
Deleted sources cannot be compared with, and an adapter that was trained further is no
longer a combination. With a scaling that is a whole number and small weights (rank 4,
0.4 and 0.4) the intended weights are not known. Calls of `generate`, and of the model
under the PeftModel, are not seen as forwards: they do not count for *never-active*, nor
is it known what `generate(adapter_names=...)` used. A combination whose factors are
read by hand (`get_delta_weight`), or that is used after watching has ended, is reported
when the old adapter was looked at first.

## Known myths
"linear adds the adapters up": measured, its slope on each source is right within 1 %,
but it adds products of one adapter's A with another's B besides, which for two adapters
of random directions are as large as the sum. PEFT says so, and it is not reported;
"cat" has none.

## References
- huggingface/peft#3449, #3761, #3473 (rsLoRA, lora_bias and DoRA in the combination)
- huggingface/peft#3004, #3013 (what "linear" adds)
- huggingface/peft#1615 (two heads are refused, and one is not)
- huggingface/peft#1444 (the documentation lacked the call of `set_adapter`)
"""

from collections.abc import Mapping

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.saving import needs_model
from ftlab.rules.reading.wiring import (
    Described,
    adapters,
    may_hold_adapters,
    steps_of,
    trainable_tensors,
    wiring,
)
from ftlab.rules.rule import Finding, Results, Rule, Run
from ftlab.rules.words import counted, number

STRONG = 2.0
"""Sum of the weights from which a scaling above 1 is certainly too much."""

ROUND = 1e-3
"""Distance from a multiple of 0.01 up to which a weight was typed by somebody."""

SAME = 1e-3
"""Relative distance of the scaling from 1 up to which it is 1."""

_LOST = {
    "magnitudes": (
        "the magnitudes that DoRA has learned: its own are those of the base weights",
        "use_dora",
    ),
    "biases": ("the biases that lora_bias has learned: its own are 0", "lora_bias"),
    "heads": (
        "the full modules that its sources have trained: its own are the base's",
        "modules_to_save",
    ),
}

_APART = (
    "Merge each adapter into a copy of the base and average these, or train adapters "
    "to be combined without {}."
)
_COPY = (
    "Copy them: for each wrapper, "
    "modules_to_save[{!r}].load_state_dict(modules_to_save[source].state_dict())."
)


class CombinationOffItsSum(Rule):
    """Finds combined adapters that are not what was asked for, or are not asked."""

    code = "ADP038"
    status = "stable"
    requires = needs_model
    applies = staticmethod(may_hold_adapters)

    def check(self, run: Run) -> Results:
        """Yield findings of all that are in use, and of the latest that never was."""
        for entry in [e for e in run.ledger if e.op == "unused"][-1:]:
            yield self._unused(entry)
        found = wiring(run).get("combinations") or {}
        active = run.facts.model.get("active_adapters") or ()
        for name, described, config in adapters(run):
            used = name in active or trainable_tensors(described)
            if name not in found or not used:
                continue
            if _is_overscaled(found[name], config):
                yield self._overscaled(run, name, found[name])
            for part in found[name]["lost"]:
                yield self._without(run, name, part, found[name])

    def _overscaled(self, run: Run, name: str, found: Described) -> Finding:
        scaling, weights = float(found["scaling"]), found["weights"]
        asked = {source: weight / scaling for source, weight in weights.items()}
        return self.error(
            f"step {steps_of(run)[0]}: adapter {name} is {_sum(weights)}, "
            f"{number(scaling)} times {_sum(asked)}",
            cause="add_weighted_adapter folds the scaling of its sources into the "
            "factors and copies use_rslora from the first one, so they are multiplied "
            f"by sqrt(r) = {number(scaling)} again.",
            fix=f"Divide the weights by {number(scaling)} (the root of the new rank), "
            "or combine adapters without use_rslora.",
            places={
                "call": "add_weighted_adapter",
                "config": "use_rslora",
                "object": f"adapter {name}",
            },
            steps=steps_of(run),
            reason="overscaled",
            evidence={
                "scaling": scaling,
                "sum_of_weights": _strength(weights),
                "threshold": STRONG,
            },
            healthy="the scaling of a combined adapter is 1",
        )

    def _without(self, run: Run, name: str, part: str, found: Described) -> Finding:
        words, field = _LOST[part]
        return self.warning(
            f"step {steps_of(run)[0]}: adapter {name} is {_sum(found['weights'])}, "
            f"without {words}",
            cause="add_weighted_adapter combines only A and B; everything else the "
            "sources have learned is lost.",
            fix=_COPY.format(name) if part == "heads" else _APART.format(field),
            places={"config": field, "object": f"adapter {name}"},
            steps=steps_of(run),
            reason=part,
            evidence={"layers": int(found["layers"]), "threshold": 0},
            healthy="a single adapter combined with weight 1 is that adapter",
        )

    def _unused(self, entry: LedgerEntry) -> Finding:
        name, active = str(entry.detail["adapter"]), str(entry.detail["active"])
        forwards = int(entry.detail["forwards"])
        return self.warning(
            f"step {entry.step}: adapter {name!r} was combined from others but never "
            f"used: {counted(forwards, 'forward')} after it ran {active!r}",
            cause="add_weighted_adapter creates an adapter but does not activate it: "
            f"{active!r} was measured instead.",
            fix=f"Call model.set_adapter({name!r}) before the model is evaluated.",
            places={
                "call": ["set_adapter", "add_weighted_adapter"],
                "config": "active_adapters",
                "object": f"adapter {name}",
            },
            steps=(entry.step, entry.step),
            reason="never-active",
            evidence={
                "adapter": name,
                "active": active,
                "forwards": forwards,
                "threshold": 0,
            },
            healthy="a combined adapter is activated, saved, merged or trained",
        )


def _is_overscaled(found: Described, config: Described) -> bool:
    scaling, weights = float(found["scaling"]), found["weights"]
    asked = config.get("r"), config.get("lora_alpha")
    if not config.get("use_rslora") or asked[0] != asked[1]:
        return False
    # Without a scaling above 1 the factors alone hold what was asked for.
    if scaling <= 1 + SAME:
        return False
    typed = all(_is_round(weight / scaling) for weight in weights.values())
    as_is = all(_is_round(weight) for weight in weights.values())
    return _strength(weights) >= STRONG - SAME or (typed and not as_is)


def _is_round(weight: float) -> bool:
    return abs(100 * weight - round(100 * weight)) <= 100 * ROUND


def _strength(weights: Mapping[str, float]) -> float:
    return sum(abs(weight) for weight in weights.values())


def _sum(weights: Mapping[str, float]) -> str:
    return " + ".join(f"{weight:.3g} x {name}" for name, weight in weights.items())
