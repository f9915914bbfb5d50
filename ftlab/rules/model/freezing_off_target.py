"""The rule MOD014, freezing-off-target.

## What it does
Finds attempts to freeze or unfreeze that have no effect, or affect the wrong blocks:
`requires_grad` as an attribute of a module, misspelled on a parameter, and a string
that also matches the numbers of other blocks (`"layers.1"` in `layers.10`).

## Why is this bad?
Nothing is raised. A module stores any attribute that it is given, so that all of the
"frozen" base is trained, at the memory of full fine-tuning, and an adapter's file does
not contain it. A name filter that matches two more blocks leaves them untrained, or
trains them.

## Evidence
*attribute*: a module (or parameter) holds a bool called `requires_grad`, or a
misspelling of it, and at least nine tenths of its elements, adapters aside, do the
opposite. The tenth is for what a model freezes itself, such as positions. `trainable =
False` counts on a parameter, as in Keras. Where the code of the module's own class sets
the attribute it is info: it may mean something else there. The same for one that says
`True` over frozen weights while adapters learn: PEFT has frozen them since.
Measured with torch 2.13: after `module.requires_grad = False` on a tiny ViT all 48
tensors still require a gradient, and move.
*digits*: a list of more than ten equal blocks falls into two kinds by what is frozen in
them, and the smaller kind consists of all blocks whose number begins with certain
digits, and of consecutive blocks below ten: 1, 10, 11 of 12. Of all 4,094 choices among
12 blocks 7 look like this. Consecutive blocks never do. It is info where only one block
is caught (10 of 11 blocks), and where the selected ones are both ends of the list:
training only the middle excludes 0, 1, 10 and 11 of 12 on purpose.
By hand: `[n for n, p in model.named_parameters() if p.requires_grad]`.

## What to try
1. `module.requires_grad_(False)`, with the underscore, or
   `for p in module.parameters(): p.requires_grad = False`.
2. Compare numbers, not strings: `for block in model.model.layers[:2]:
   block.requires_grad_(False)`; or end the string with a dot, `"layers.1."`.
3. Build the optimizer after freezing, from what requires a gradient.

## Known problems
Freezing blocks 1, 10 and 11 on purpose, by a list, is reported. Blocks that PEFT
selects (`layers_to_transform`) are not checked. Attributes that are later overridden by
`requires_grad_` of some parts are not reported.

## Known myths
"`module.requires_grad = False` freezes": measured above; only tensors have it.

## References
- pytorch, `torch.nn.Module.requires_grad_`
- huggingface/peft#3490 (names matched only by a prefix)
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ftlab.rules.reading.saving import needs_model
from ftlab.rules.reading.wiring import count_of, names_of, steps_of
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import counted, in_words

FEWEST = 2
"""Blocks that must be caught before it is a warning."""


class FreezingOffTarget(Rule):
    """Finds what was frozen or thawed otherwise than it was written."""

    code = "MOD014"
    requires = needs_model

    def check(self, run: Run) -> Results:
        """Yield one finding per attribute and value, and one per list of blocks."""
        facts: Mapping[str, Any] = run.facts.model.get("freezing") or {}
        alike: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
        for mark in facts.get("attributes") or ():
            key = mark["attribute"], mark["value"], _severity(run, mark)
            alike.setdefault(key, []).append(mark)
        for (_, _, severity), marks in alike.items():
            yield self._attribute(run, marks, severity)
        for blocks in facts.get("numbered") or ():
            yield self._digits(run, blocks)

    def _attribute(
        self, run: Run, marks: Sequence[Mapping[str, Any]], severity: Severity
    ) -> Finding:
        attribute, value = marks[0]["attribute"], marks[0]["value"]
        names = [name for mark in marks for name in names_of(mark["parameters"])]
        count = sum(count_of(mark["parameters"]) for mark in marks)
        where = [mark["place"] or mark["class"] for mark in marks]
        state = "are frozen" if value else "require a gradient"
        call = f"requires_grad_({value})"
        return self.finding(
            severity,
            f"from step {steps_of(run)[0]}: {attribute} = {value} is set on "
            f"{in_words(where)}, but {counted(count, 'parameter')} there {state}: "
            f"{in_words(names)}",
            cause=f"{attribute} = {value} sets an attribute that torch does not read: "
            "only requires_grad of a tensor, and requires_grad_() of a module, have an "
            "effect.",
            fix=f"module.{call}, with the underscore, before the optimizer is built.",
            places={"param": names, "call": "requires_grad", "object": where},
            steps=steps_of(run),
            reason="attribute",
            evidence={"parameters": count, "attributes": len(marks), "threshold": 0.9},
            healthy="parameters are frozen or trained as the attribute says",
        )

    def _digits(self, run: Run, blocks: Mapping[str, Any]) -> Finding:
        path, caught = blocks["path"], list(blocks["caught"])
        chosen = ", ".join(map(str, blocks["chosen"]))
        digits = " or ".join(map(str, blocks["begins"]))
        names = names_of(blocks["parameters"])
        sure = len(caught) >= FEWEST and not blocks["ends"]
        last = path.rpartition(".")[2]
        begin = f"{last}.{blocks['begins'][0]}"
        what = "frozen" if blocks["frozen"] else "trained"
        return self.finding(
            Severity.WARNING if sure else Severity.INFO,
            f"from step {steps_of(run)[0]}: of {blocks['blocks']} blocks in {path} "
            f"those with the numbers {chosen} are {what} differently from the rest: "
            f"all whose number begins with {digits}",
            cause=f"The names were searched for a string such as {begin!r}, which also "
            f"matches {begin}0. Blocks {', '.join(map(str, caught))} were caught.",
            fix=f"End the string with a dot ({begin + '.'!r}), or select the blocks by "
            f"index: {last}[{blocks['begins'][0]}].requires_grad_(...).",
            places={
                "param": names,
                "module": [f"{path}.{number}" for number in caught],
                "call": "requires_grad_",
            },
            steps=steps_of(run),
            reason="digits",
            evidence={
                "blocks": blocks["blocks"],
                "chosen": chosen,
                "caught": len(caught),
                "threshold": FEWEST,
            },
            healthy="blocks are selected by index, or by a string that ends in a dot",
        )


def _severity(run: Run, mark: Mapping[str, Any]) -> Severity:
    peft_froze = mark["value"] and bool(run.facts.model.get("peft"))
    return Severity.INFO if mark["own"] or peft_froze else Severity.WARNING
