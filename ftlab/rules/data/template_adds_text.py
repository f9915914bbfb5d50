"""The rule DAT038, template-adds-text.

## What it does
Finds texts of the chat template's own that training and serving do not share: a system
text beside that of the data or alone, a prompt for an answer that no row begins with,
and white space that the tokenizer takes away again.

## Why is this bad?
Beside a message of the data, each sample begins with two instructions, which may
contradict each other. Alone a system text is well as long as serving renders by the
same template; another engine begins in a way that no sample has taught. Behind a prompt
that training never had, such as an opened `<think>`, the answer begins in a way that no
row has taught. And whoever tokenises the template's text in another form (a serving
engine, the slow tokenizer or the fast one) feeds the model line ends that it has not
seen.

## Evidence
The chat template, rendered, and the turns of the samples.
- *beside*: the turn that it writes for conversations without a system message stands
  beside that of the message, and opens as that does, in 2 samples at least; a fixed
  beginning within the same turn (a date, tools), in front of all turns, or under
  another role is none. *alone*, a note: a text stands before the first turn, samples
  begin with it, and no system message follows; a date within it is that of the day of
  training, unless `date_string` was passed. Measured on 81 real templates (72 of them
  come with TRL): none writes two, and 25 have a system text of their own.
- *no-prefix*, a note: a question with `add_generation_prompt=True` is no beginning of
  question and answer. Measured: so in 14 of 60 real templates.
- *stripped*, a note: an added token has `rstrip` or `lstrip`, the template writes white
  space on that side of it, and the ids are the same without. Measured: Phi-3's template
  on tokens with `rstrip=True` writes 4 line ends in a conversation of two messages, and
  the ids hold 0.

By hand: compare renderings of `apply_chat_template(..., tokenize=False)`;
`tokenizer.added_tokens_decoder`.

## What to try
1. A template that writes its own text only where `messages[0].role != "system"`; a
   system message in the data and in each request, `""` where none is wanted.
2. The same text in front of the answers that are trained, or the switch that leaves it
   out (`enable_thinking=False`) on both sides.
3. The same tokenizer, in the same form, at serving; else
   `AddedToken(text, rstrip=False, lstrip=False)` in both of its files.

## Known problems
Most trainings on a template with a text of its own are well. A text within the turn of
the message is taken for meant. Rows may hold the prompt's text already, or be rendered
by another template than the tokenizer's. Phi-3's own tokenizer strips, and was trained
so.

## References
- modelscope/ms-swift#2328 (two system prompts in training)
- hiyouga/LlamaFactory#10772 (two engines add another system text each)
- huggingface/trl#5213 (the prompt is no beginning of prompt and completion)
- huggingface/transformers#35973 (slow and fast form of Phi-3's tokenizer differ),
  huggingface/tokenizers#1613
"""

from ftlab.records.template import TemplateFacts
from ftlab.records.template_words import short
from ftlab.records.turn_facts import TurnFacts
from ftlab.rules.reading.token_rules import TurnRule, Turns
from ftlab.rules.reading.turns import (
    is_answer,
    template_of,
    told_system,
    turn_sights,
    turns_where,
)
from ftlab.rules.rule import Finding, Place, Results, Run, Severity

SAMPLES = 2
"""Samples with a system message of their own."""

SHOWN = 24
"""Characters of each text that the message shows."""

_TEMPLATE = Place("config", "tokenizer.chat_template")


class TemplateAddsText(TurnRule):
    """Finds the template's own words, and what becomes of them."""

    code = "DAT038"

    def check(self, run: Run) -> Results:
        """Yield one finding for each kind."""
        facts = template_of(run)
        if facts is None:
            return
        yield from self._system(run, facts)
        if facts.prompt_difference is not None:
            left = facts.prompt_difference.left[:SHOWN]
            right = facts.prompt_difference.right[:SHOWN]
            yield self.of_turns(
                run,
                f"the prompt goes on with {left!r} where training has {right!r}",
                turns_where(run, is_answer),
                _start,
                severity=Severity.INFO,
                cause="The template's generation prompt holds a text that it does not "
                "write before an answer.",
                fix="The same text before the answers that are trained, or the switch "
                "that leaves it out on both sides.",
                reason="no-prefix",
                evidence={"prompt": left, "training": right},
                healthy="a prompt that is the beginning of a trained conversation",
                behind=[_TEMPLATE],
            )
        if facts.swallowed:
            names = ", ".join(map(short, facts.swallowed))
            space = next(iter(facts.swallowed.values()))
            yield self.of_turns(
                run,
                f"{space!r} that the chat template writes beside {names} is not in the "
                "ids",
                turns_where(run, lambda turn: turn.part == "end"),
                _start,
                severity=Severity.INFO,
                cause="The tokenizer takes it away with the token: rstrip or lstrip.",
                fix="The same tokenizer at serving, or AddedToken(..., rstrip=False, "
                "lstrip=False).",
                reason="stripped",
                evidence={"tokens": names, "space": space},
                healthy="ids that hold what the template writes",
                before=[Place("config", "tokenizer.added_tokens_decoder")],
            )

    def _system(self, run: Run, facts: TemplateFacts) -> Results:
        """Tell of samples with a system message, and of others."""
        told = [(each, told_system(each.sample)) for each in turn_sights(run)]
        beside = [(sight, turn) for sight, turn in told if turn is not None]
        if facts.system_kept and len(beside) >= SAMPLES:
            yield self._beside(run, facts, beside)
        alone = [
            (sight, turn)
            for sight, its in told
            for turn in sight.sample.turns[:1]
            if its is None and turn.part == "added" and turn.end - turn.start > 1
        ]
        if not facts.system_text or not alone:
            return
        dated = ", with the date that it is given, or that of the day"
        text = facts.system_text.replace(facts.date or "\0", "{date}")
        yield self.of_turns(
            run,
            f"{len(alone)} samples begin with a text of the template's own, "
            f"{short(text)}{dated if facts.date else ''}",
            alone,
            _start,
            severity=Severity.INFO,
            cause="The chat template writes a system text where messages have none.",
            fix="A system message in the data and in each request, or the same "
            "template at serving.",
            evidence=_counted("alone", alone),
            healthy="samples that begin with what the data says",
            behind=[_TEMPLATE],
        )

    def _beside(self, run: Run, facts: TemplateFacts, found: Turns) -> Finding:
        sight, turn = found[0]
        own = [(sight, sight.sample.turns[0]) for sight, _ in found]
        return self.of_turns(
            run,
            f"{len(found)} samples have two system turns: the template's own, "
            f"{short(facts.system_text)}, and that of the data, from token "
            f"{turn.start} of sample {sight.sample.row} on",
            [each for pair in zip(found, own, strict=True) for each in pair],
            _start,
            cause="The chat template writes its system text even where messages have "
            "one.",
            fix="Write it only where messages[0].role != 'system', or leave the system "
            "message out of the data.",
            evidence=_counted("beside", found),
            healthy="one system turn, or none",
            behind=[_TEMPLATE],
        )


def _start(turn: TurnFacts) -> int:
    return turn.start


def _counted(reason: str, found: Turns) -> dict[str, float | int | str]:
    turn = found[0][1]
    tokens = turn.end - turn.start
    return {"reason": reason, "samples": len(found), "tokens": tokens}
