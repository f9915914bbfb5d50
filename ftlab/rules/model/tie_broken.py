"""The rule MOD015, tie-broken.

## What it does
Finds models whose configuration ties the head to the embedding, but in which the two
are separate tensors that are trained.

## Why is this bad?
They drift apart: the model no longer matches its configuration. Whatever ties by the
configuration (`tie_weights()`, converters, inference engines that keep one table)
overwrites one with the other, and what that has learned is gone. Until then both take
memory, also in the optimizer.

## Evidence
The model's class can tie (`_tied_weights_keys`), its configuration (of the text part)
says `tie_word_embeddings=True`, and the weights of `get_input_embeddings()` and
`get_output_embeddings()` are two parameters with two addresses, of one shape and not
quantised, of which at least one is trainable (*two-tensors*). Copies of
`modules_to_save` are followed (*copies*): a copy of *both* sides counts as
well, unless PEFT keeps them as one (`ensure_weight_tying=True`). A copy of only one
side is reported by ADP029. There is no threshold. Two frozen copies of equal values do
no harm and are not reported.
Measured (transformers 5.23, a tiny tied Qwen2, `model.lm_head.weight =
Parameter(weight.float().clone())`, 16 steps of AdamW at 2e-3): the two differ by 0.70
of the embedding's norm. The file of `save_pretrained` holds both.
By hand: `model.get_output_embeddings().weight is model.get_input_embeddings().weight`.

## What to try
1. `model.tie_weights()` after `load_state_dict(assign=True)`, after a cast that makes a
   new `Parameter`, and after replacing the head; before the optimizer is built.
2. Cast in place: `model.lm_head.to(torch.float32)` keeps the parameter, and the tie.
3. If two are intended: `model.config.tie_word_embeddings = False`, for the file as
   well.
4. PEFT: `ensure_weight_tying=True` with both in `modules_to_save` (from 0.19 on).

## Known problems
Merging the two by hand before saving is reported all the same.

## Known myths
"The next load ties them": measured with transformers 5.23, `from_pretrained` of a file
that holds two different tables keeps both (equal ones become one again).

## References
- huggingface/peft#2864, #2777, #2972; unslothai/unsloth#9331
- transformers, `PreTrainedModel.tie_weights`
"""

from collections.abc import Mapping
from typing import Any

from ftlab.records.name_words import in_words
from ftlab.rules.reading.saving import needs_model
from ftlab.rules.reading.wiring import param_places, steps_of
from ftlab.rules.rule import Finding, Place, Results, Rule, Run

_BY_PEFT = (
    "modules_to_save copies the embedding and the head separately: one tied weight "
    "becomes two that are trained separately.",
    "ensure_weight_tying=True in the LoraConfig, or untie the model first, with "
    "config.tie_word_embeddings = False.",
)

_BY_HAND = (
    "The head got its own parameter: from load_state_dict(assign=True), a cast that "
    "makes a new Parameter, or a new head, without tie_weights() after it.",
    "model.tie_weights() before the optimizer is built; or, if they should be "
    "separate, model.config.tie_word_embeddings = False.",
)


class TieBroken(Rule):
    """Finds tied weights that are trained as two."""

    code = "MOD015"
    requires = needs_model

    def check(self, run: Run) -> Results:
        """Yield one finding per pair."""
        for pair in run.facts.model.get("untied") or ():
            if pair["trainable"] and pair["copies"] != "one":
                yield self._finding(run, pair)

    def _finding(self, run: Run, pair: Mapping[str, Any]) -> Finding:
        copies = pair["copies"] == "both"
        cause, fix = _BY_PEFT if copies else _BY_HAND
        trained = list(pair["trainable"])
        names = [pair["output"], pair["input"]]
        made = [Place("config", "ensure_weight_tying")] if copies else []
        calls = [] if copies else [Place("call", "tie_weights")]
        return self.warning(
            f"from step {steps_of(run)[0]}: tie_word_embeddings is true, but "
            f"{in_words(names)} are two tensors, of which {in_words(trained)} "
            f"{'learns' if len(trained) == 1 else 'learn'}",
            cause=cause,
            fix=fix,
            places=[
                *param_places(names),
                *made,
                Place("config", "tie_word_embeddings"),
                *calls,
            ],
            steps=steps_of(run),
            reason="copies" if copies else "two-tensors",
            evidence={"trainable": len(trained), "threshold": 0},
            healthy="embedding and head are one parameter, or tie_word_embeddings is "
            "false",
        )
