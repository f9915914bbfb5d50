"""The rule OPT009, group-without-parameters.

## What it does
Finds empty parameter groups, while parameters get the learning rate, or the weight
decay, of a different group.

## Why is this bad?
A group with a learning rate of its own is made for something: a new head, a tower. Its
parameters should have been selected by name, and none matched. They are in the group of
all the rest, and learn at its rate, or are in no group at all.

## Evidence
The number of parameters in each group, 0, and its learning rate (`initial_lr` where
a scheduler is on), which no other group has. There is no threshold.
- *wrapped*: the watched model is wrapped, and its names begin with the wrapper's
  (`_orig_mod.` of torch.compile, `module.` of DDP). A filter by name
  (`name.startswith("head")`) matches the unwrapped model's names and none of these. A
  warning.
- *empty*: it is not. The group's parameters may be frozen, or not be in this model.
  Reported as info.
- *no-decay*: the empty group has no weight decay, another one has, and that holds
  vectors: norms and biases, which such a group is made for. `LayerNorm.weight`, from a
  script for BERT, is in no name of a Llama. Reported as info: where the group was made
  for biases alone, a model without any loses nothing.
LoRA+ makes groups for parts that a model may not have, and is left alone: some group
then holds second factors of pairs and no first ones.
Measured on a classifier: `n.startswith("score")` finds 1 of the 21 names of the model,
and 0 of the 21 of `torch.compile(model)`; its head then learns at 1e-3, not at 1e-2.
By hand: `[(len(g["params"]), g["lr"]) for g in optimizer.param_groups]`.

## What to try
1. Build the groups from the unwrapped model, before torch.compile or DDP: the
   parameters are the same objects.
2. Compile in place, `model.compile()`: no name changes.
3. Match parts of names, `".head." in f".{name}"`, and check that no group is empty.

## Known problems
A group that was selected by the names of a wrapped model is reported as info where the
unwrapped one is watched: the wrapper is not known then.

## References
- pytorch/pytorch#101107 (`_orig_mod.` in names)
- torch.optim, per-parameter options
- huggingface/transformers#35927 (norms missed by the names of a no-decay group)
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ftlab.records.names import NameRecord
from ftlab.rules.reading.needs import needs_optimizers
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import counted, in_words, number


class GroupWithoutParameters(Rule):
    """Finds parameter groups whose parameters were not found."""

    code = "OPT009"
    requires = needs_optimizers

    def check(self, run: Run) -> Results:
        """Yield one finding per empty group with a rate of its own."""
        wrapper = str(run.facts.model.get("wrapped_in", ""))
        for optimizer in run.facts.optimizers:
            groups = list(optimizer.get("groups", ()))
            if _by_factor(groups):
                continue
            for index, group in enumerate(groups):
                rate, others = _rate(group), _rates_of_others(groups)
                apart = bool(others) and rate not in others
                if group.get("count", 1):
                    continue
                if rate and apart:
                    yield self._finding(run, index, rate, others, wrapper)
                elif vectors := _decayed_vectors(run, group, groups):
                    yield self._no_decay(run, index, vectors)

    def _finding(
        self, run: Run, index: int, rate: float, others: Sequence[float], wrapper: str
    ) -> Finding:
        rest = ", ".join(map(number, others))
        first = run.facts.step
        return self.finding(
            Severity.WARNING if wrapper else Severity.INFO,
            f"step {first}: parameter group {index}, with a learning rate of "
            f"{number(rate)}, holds no parameter; all parameters learn at {rest}",
            cause=f"The parameter names begin with the prefix of {wrapper}: a filter "
            "by the beginning of a name matched nothing."
            if wrapper
            else "No parameter matched the group's filter, or all that match are "
            "frozen.",
            fix="Build the groups from the named_parameters() of the model before it "
            "is wrapped, and check that no group is empty.",
            places={
                "optimizer": f"param_groups[{index}]",
                "call": ["torch.compile"] if wrapper == _COMPILED else (),
            },
            steps=(first, run.last_step),
            reason="wrapped" if wrapper else "empty",
            evidence={"parameters": 0, "threshold": 0},
            healthy="each group holds the parameters it was made for",
        )

    def _no_decay(self, run: Run, index: int, vectors: Sequence[NameRecord]) -> Finding:
        first = run.facts.step
        return self.note(
            f"step {first}: parameter group {index}, without weight decay, holds no "
            f"parameter; {counted(len(vectors), 'vector')} in other groups decay: "
            f"{in_words(name.name for name in vectors)}",
            cause="The group's filter uses the parameter names of a different model.",
            fix="Select by shape: put parameters of fewer than 2 dimensions into the "
            "group without decay.",
            places={
                "optimizer": f"param_groups[{index}]",
                "param": [name.name for name in vectors],
            },
            steps=(first, run.last_step),
            reason="no-decay",
            evidence={"vectors": len(vectors), "threshold": 0},
            healthy="a group without decay holds the norms and biases",
        )


_COMPILED = "OptimizedModule"


def _decayed_vectors(
    run: Run, empty: Mapping[str, Any], groups: Sequence[Mapping[str, Any]]
) -> list[NameRecord]:
    """Return the vectors that decay beside an empty group in which they would not."""
    if empty.get("weight_decay") != 0:
        return []
    held = {
        name for g in groups if g.get("weight_decay") for name in g.get("names", ())
    }
    return [n for n in run.names().values() if n.name in held and len(n.shape) == 1]


def _rate(group: Mapping[str, Any]) -> float | None:
    """Return the rate that a group was made with, whatever the schedule gives now."""
    rate = group.get("initial_lr", group.get("lr"))
    return None if rate is None else float(rate)


def _rates_of_others(groups: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the rates of the groups that hold something."""
    rates = (_rate(group) for group in groups if group.get("count"))
    return [rate for rate in rates if rate is not None]


def _by_factor(groups: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether second factors of LoRA are in a group of their own, as in LoRA+."""
    held = [tuple(map(str, group.get("names", ()))) for group in groups]
    return any(
        any("lora_B" in name for name in names)
        and not any("lora_A" in name for name in names)
        for names in held
    )
