"""The rule OPT026, group-setting-not-read.

## What it does
Finds settings of a parameter group under a key that the optimizer doesn't read:
`learning_rate` or `wd`, where torch's names are `lr` and `weight_decay`.

## Why is this bad?
A group may hold any key, and nothing warns about an unknown one. The group takes the
optimizer's default: a new head that should learn at 1e-2 learns at the 1e-6 of the
model below it.

## Evidence
A key that is not among the optimizer's own defaults and is another library's name of
one of them (Keras, optax, Hugging Face's arguments, fastai), or is written like one:
the same first letter, one letter more or less at most, and at least 0.85 of the letters
in their order (`difflib.SequenceMatcher`). `weight_deacy` for `weight_decay` has 0.91,
`momemtum` 0.88; `max_momentum` and `weight_decay_end`, which schedules read, are
longer. The group's setting is the optimizer's default, and differs from the number
under the key.
A rate must have stayed at the default for 2 steps, or have begun there for a scheduler:
a loop that reads its own key writes `lr` from it.
Optimizers outside torch, transformers and bitsandbytes may read any key, and are left
alone.
By hand: `[group.keys() - optimizer.defaults.keys() for group in
optimizer.param_groups]`: `params`, `initial_lr` and your own may be left.

## What to try
1. Use the optimizer's own name: `{"params": head, "lr": 1e-2}`.
2. Where a loop of yours reads the key, read it before the first step.

## Known problems
A key under which a loop stores a number of its own, used only after the first steps, is
taken for a mistake where its name is another library's.

## References
- torch.optim, per-parameter options
- keras.optimizers (`learning_rate`, `epsilon`), optax (`b1`, `b2`),
  transformers.TrainingArguments (`adam_epsilon`), fastai.optimizer (`wd`, `mom`)
"""

import difflib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ftlab.rules.reading.groups import groups_of
from ftlab.rules.reading.needs import needs_optimizers
from ftlab.rules.rule import Finding, Results, Rule, Run
from ftlab.rules.words import number

OTHER_NAMES = {
    "learningrate": "lr",
    "lrate": "lr",
    "wd": "weight_decay",
    "epsilon": "eps",
    "adamepsilon": "eps",
    "mom": "momentum",
}
"""What other libraries call a setting, without underscores, and torch's name."""

ALIKE = 0.85
"""Share of the letters of two names that are the same, in their order."""

STEPS = 2
"""Steps at the default rate."""

READS_ITS_OWN = ("torch", "transformers", "bitsandbytes")
"""Libraries whose optimizers read what is in their defaults, and nothing else."""


class GroupSettingNotRead(Rule):
    """Finds settings of groups under keys that no optimizer reads."""

    code = "OPT026"
    requires = needs_optimizers

    def check(self, run: Run) -> Results:
        """Yield one finding per key of a group."""
        facts = run.facts.optimizers
        for index, group in enumerate(groups_of(run)):
            if group.module.partition(".")[0] not in READS_ITS_OWN:
                continue
            defaults = dict(facts[group.optimizer].get("defaults") or {})
            for key, asked in (group.values.get("unread") or {}).items():
                meant = _meant(key, defaults)
                taken = defaults.get(meant)
                if asked is None or taken is None or asked == taken:
                    continue
                if _is_left_at(run, index, group.values, meant, taken):
                    yield self._finding(run, index, key, meant, asked, taken)

    def _finding(
        self, run: Run, index: int, key: str, meant: str, asked: float, taken: float
    ) -> Finding:
        return self.warning(
            f"parameter group {index} has {key}={number(asked)}, which the optimizer "
            f"does not read: its {meant} is the default, {number(taken)}",
            cause=f"The optimizer calls this setting {meant}; it stores other keys and "
            "ignores them.",
            fix=f'Give the group {{"params": ..., "{meant}": {number(asked)}}}.',
            places={"optimizer": [f"param_groups[{index}]", meant]},
            steps=(run.facts.step, run.last_step),
            reason="not-read",
            evidence={"key": key, "asked": asked, "taken": taken, "threshold": ALIKE},
            healthy="every number of a group is under a name that the optimizer reads",
        )


def _meant(key: str, defaults: Mapping[str, Any]) -> str:
    """Return the setting whose name in other libraries, or misspelled, is ``key``."""
    letters = _letters(key)
    if letters in OTHER_NAMES:
        return OTHER_NAMES[letters]
    names = {_letters(name): name for name in defaults}
    close = difflib.get_close_matches(letters, names, n=1, cutoff=ALIKE)
    return names[close[0]] if close and _is_slip(letters, close[0]) else ""


def _is_slip(written: str, name: str) -> bool:
    """Tell whether two names may differ by mistake, and not by a word."""
    return written[0] == name[0] and abs(len(written) - len(name)) <= 1


def _letters(key: str) -> str:
    return "".join(filter(str.isalnum, key.lower()))


def _is_left_at(
    run: Run, index: int, group: Mapping[str, Any], name: str, default: float
) -> bool:
    """Tell whether the group has nothing but the default for this setting."""
    begun = group.get("initial_lr") if name == "lr" else None
    held = group.get(name, default) if begun is None else begun
    if held != default or begun is not None or name != "lr":
        return bool(held == default)
    rates = run.steps["lr"]
    own = rates[:, index] if index < rates.shape[1] else rates[:, :0].ravel()
    return len(own) >= STEPS and bool(np.isclose(own, default, rtol=1e-6).all())
