"""The rule MOD008, parameters-not-registered.

## What it does
Finds parameters that contribute to the loss but are not registered, because a module
keeps them in a list, a dict or another object, or has only a tensor derived from one,
such as `Parameter(...).to(dtype)`.

## Why is this bad?
`model.parameters()` does not include them, so the optimizer does not get them and they
keep their initial values. `model.to(...)` does not move them, `state_dict()` does not
save
them, PEFT neither freezes nor adapts them. Nothing fails: the layers run, and they have
gradients.

## Evidence
The attributes of every module, lists, dicts and custom objects within them up to four
levels deep, for parameters that require a gradient and that `model.parameters()` does
not yield; such a parameter counts when backward has given it a gradient. All optimizers
in the process are searched for it: one that is held is trained, and info, since it is
not saved with the model (*not-saved*); the others are *not-trained*. There is no
threshold. Layers that are kept like this on purpose (a teacher, a discriminator) have
no gradient or an optimizer of their own. Measured: of a list of two linear layers per
block 0 bytes change in 6 steps of AdamW over `model.parameters()`, while each of them
has a gradient.
By hand: `sum(p.numel() for p in model.parameters())` against what you expect, and
`model.state_dict().keys()`.

## What to try
1. `torch.nn.ModuleList([...])`, `ModuleDict({...})`, `ParameterList([...])` instead of
   the plain container.
2. `self.register_parameter(name, parameter)` for a single one.
3. `Parameter(a.to(dtype))`: cast and scale before it becomes a parameter.
4. If kept out on purpose: `requires_grad_(False)`, so that no gradient is computed in
   vain.

## Known problems
Plain tensors with `requires_grad=True` are not searched for, nor what closures and
globals hold. Objects of torch, transformers, PEFT and accelerate are not inspected.

## References
- pytorch, `torch.nn.ModuleList` and `torch.nn.Module.register_parameter`
"""

from collections.abc import Sequence

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity, needs_if_recorded
from ftlab.rules.words import at_steps, counted, in_words

TABLE = "unregistered"

_OF_A_CONTAINER = (
    "torch registers only modules and parameters that are direct attributes, or in a "
    "ModuleList, ModuleDict or ParameterList."
)
_OF_A_TENSOR = (
    "casting, moving or scaling a Parameter gives a plain tensor, which is not "
    "registered."
)
_KEEP = "Keep them in torch.nn.ModuleList (ModuleDict, ParameterList)."
_MAKE = "self.weight = torch.nn.Parameter(tensor.to(dtype)): create the Parameter last."


class ParametersNotRegistered(Rule):
    """Finds parameters in the loss that the model does not know of."""

    code = "MOD008"
    status = "stable"
    requires = needs_if_recorded(
        "held", "which parameters modules keep unregistered", table=TABLE
    )

    def check(self, run: Run) -> Results:
        """Yield a finding for those without an optimizer, and one for the others."""
        matrix = run.matrix("held", TABLE)
        records = records_of(run, matrix.ids, TABLE)
        steps = int(matrix.steps[0]), int(matrix.steps[-1])
        for held in (False, True):
            found = [each for each in records if bool(each.meta.get("held")) == held]
            if found:
                yield self._finding(found, steps, held=held)

    def _finding(
        self, found: Sequence[NameRecord], steps: tuple[int, int], *, held: bool
    ) -> Finding:
        where = list(dict.fromkeys(_attribute(each) for each in found))
        kinds = sorted({text_of(each, "container") for each in found})
        made = kinds == ["Tensor"]
        fate = "an optimizer holds them" if held else "no optimizer holds them"
        return self.finding(
            Severity.INFO if held else Severity.ERROR,
            f"{at_steps(*steps)}: {counted(len(found), 'parameter')} with a gradient "
            f"{'is' if len(found) == 1 else 'are'} not among model.parameters(), and "
            f"{fate}: {in_words(each.name for each in found)}",
            cause=f"{in_words(where)} is a plain {' or '.join(kinds)}: "
            + (_OF_A_TENSOR if made else _OF_A_CONTAINER),
            fix=(_MAKE if made else _KEEP) + " Build the optimizer after that; freeze "
            "what is kept out on purpose.",
            places={"param": [name.name for name in found], "object": where},
            steps=steps,
            reason="not-saved" if held else "not-trained",
            evidence={"parameters": len(found), "threshold": 0},
            healthy="every parameter in the loss is one of model.parameters()",
        )


def _attribute(record: NameRecord) -> str:
    owner, attribute = text_of(record, "owner"), text_of(record, "attribute")
    return f"{owner}.{attribute}" if owner else attribute
