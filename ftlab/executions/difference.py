"""Executes two sides until it is known where they part."""

from collections.abc import Callable

from ftlab.executions.births import Birth, births, differing_weights, words
from ftlab.executions.captures import Captured
from ftlab.executions.floors import Ratios
from ftlab.executions.jumps import jump
from ftlab.executions.listening import Place
from ftlab.executions.operations import (
    BackwardOperations,
    Dropping,
    ForwardOperations,
    Operations,
    Parted,
    Stopping,
    parting,
)
from ftlab.executions.outlines import (
    alone,
    beyond,
    heat,
    logits,
    outcome,
    rows,
    tokens_of,
)
from ftlab.executions.pairs import Pair
from ftlab.executions.runs import Runs
from ftlab.executions.side import Side, start_again, undisturbed
from ftlab.executions.sketches import between, sketched
from ftlab.executions.spool import Spool
from ftlab.executions.tape import Tape
from ftlab.executions.tokens import Grid
from ftlab.records.difference import Born, Differences

TOLD = 3.0
"""Distance over the floor above which two results differ by more than rounding.

Both sides are computed in float64 from the same inputs, where two orders of a sum agree
to 1e-13; what is left is what the code computes, in roundings of the precision in use.
`benchmarks/planted_pairs.py` measures both sides of it."""
ROUGH = 10.0
"""The same for gradients, and where both are computed as they are: what a checkpoint
recomputes carries roundings on (7.6 was measured on a healthy run), and another
implementation may have some times as many."""
MOST = 8
"""Kinds of places whose consequences are tried one by one."""


def compare(pair: Pair) -> Differences:
    """Compare two executions, and leave both models as they were."""
    if isinstance(pair.a, Captured) and pair.a.statistics:
        return _of_sketches(pair.a, pair.b, pair.names)
    live = [each for each in (pair.a, pair.b) if isinstance(each, Side)]
    with Spool() as spool, undisturbed(*live) as start:
        runs = Runs(pair, spool, start)
        found = [] if runs.same else births(runs.local, TOLD, ROUGH)
        said = [_told(runs, birth, found) for birth in found]
        said.sort(key=lambda each: each.changes is False)
        notes: list[str] = []
        whole = outcome(runs.free)
        if not said and whole > ROUGH:
            said, notes = _in_use(runs)
        modules, values = heat(runs.free)
        kl, greedy = logits(runs)
        return Differences(
            sides=pair.names,
            rows=tuple(rows(runs.free, runs.local)),
            born=tuple(said),
            outcome=whole,
            equal=all(each.changes is False for each in said),
            rest=_rest(runs, found),
            modules=modules,
            heat=values,
            tokens=tokens_of(runs.meeting.b),
            kl=kl,
            greedy=greedy,
            alone=alone(runs),
            notes=tuple(notes),
        )


def _in_use(runs: Runs) -> tuple[list[Born], list[str]]:
    """Look for what differs in the precision in use alone."""
    chosen = jump(runs.freely, runs.meeting)
    if chosen:
        return [], [chosen]
    ratios = runs.as_they_are()
    found = births(ratios, ROUGH)
    return [_born(runs, ratios, birth) for birth in found[:MOST]], []


def _told(runs: Runs, birth: Birth, found: list[Birth]) -> Born:
    changes = None
    if birth.phase == "forward" and len(found) <= MOST:
        changes = runs.changes(birth.places)
    return _born(runs, runs.local, birth, changes)


def _rest(runs: Runs, found: list[Birth]) -> float:
    """Return what is left of the difference when all births are put right."""
    places = [p for birth in found if birth.phase == "forward" for p in birth.places]
    return runs.left(places) if places else float("nan")


def _born(
    runs: Runs, ratios: Ratios, birth: Birth, changes: bool | None = None
) -> Born:
    first, forward = birth.places[0], birth.phase == "forward"
    ratio = (ratios.values if forward else ratios.gradients)[first]
    measured = ratios.found.values if forward else ratios.found.gradients
    size = measured.sizes[first].clamp(min=1e-30)
    ops, lines = _parting(runs, birth)
    return Born(
        module=birth.module,
        phase=birth.phase,
        tensor=words(first, birth),
        ratio=float(ratio.max()),
        relative=float((measured.apart[first] / size).max()),
        tokens=beyond(runs.meeting.b, ratio, TOLD),
        ops=ops,
        lines=lines,
        also=tuple(birth.also),
        weights=differing_weights(runs.a, runs.b, birth.module),
        changes=changes,
    )


def _parting(runs: Runs, birth: Birth) -> tuple[tuple[str, str], tuple[str, str]]:
    """Execute both sides once more, to the operation where they part."""
    forward, both = birth.phase == "forward", None
    start = (birth.module, birth.call, "out")
    outs = [place for place in runs.tape.values if place[:3] == start]
    if not forward and outs and isinstance(runs.a, Side):
        both = _parted(runs, outs[0], Dropping)
    kind = ForwardOperations if forward else BackwardOperations
    a, b = both or _parted(runs, birth.places[0], kind) or (None, None)
    return (
        (a.name if a else "", b.name if b else ""),
        (a.line if a else "", b.line if b else ""),
    )


def _parted(runs: Runs, place: Place, kind: Callable[[], Operations]) -> Parted:
    found = []
    for side, meeting in ((runs.a, runs.alike), (runs.b, runs.meeting)):
        if isinstance(side, Captured):
            continue
        operations = kind()
        listener = Stopping(
            operations, place, tape=runs.tape, meeting=meeting, put=runs.tape
        )
        backward = isinstance(operations, BackwardOperations)
        runs.run(side, listener, wide=True, backward=backward, within=operations)
        found.append(listener.reached)
    if len(found) == 1:  # a capture tells no operations; the last one made the tensor
        last = next(iter(found[0][-1:]), None)
        return last, last
    return parting(found[0], found[1], runs.meeting)


def _of_sketches(captured: Captured, side: Side, names: tuple[str, str]) -> Differences:
    """Compare a model with a capture that holds sketches alone.

    Each goes its own way: what is told is the first place where the two part, and not
    what is born behind it.
    """
    with Spool() as spool, undisturbed(side) as start:
        tape = Tape(spool)
        _, floor = captured.load(tape)
        start_again(side, start)
        theirs = sketched(side, spool)
        found = between(tape, theirs)
        ratios = Ratios(found, floor, found)
        grid = Grid.of(side.batch)
        born = []
        for birth in births(ratios, ROUGH)[:1]:
            place, forward = birth.places[0], birth.phase == "forward"
            ratio = (ratios.values if forward else ratios.gradients)[place]
            measured = found.values if forward else found.gradients
            share = measured.apart[place] / measured.sizes[place].clamp(min=1e-30)
            weights = differing_weights(captured, side, birth.module)
            born.append(
                Born(
                    birth.module,
                    birth.phase,
                    words(place, birth),
                    float(ratio.max()),
                    float(share.max()),
                    beyond(grid, ratio, ROUGH),
                    weights=weights,
                )
            )
        modules, values = heat(ratios)
        a, b = ({place.module: None for place in t.values} for t in (tape, theirs))
        return Differences(
            sides=names,
            rows=tuple(rows(ratios)),
            born=tuple(born),
            outcome=outcome(ratios),
            equal=not born,
            modules=modules,
            heat=values,
            tokens=tokens_of(grid),
            alone=(
                tuple(m for m in a if m not in b),
                tuple(m for m in b if m not in a),
            ),
            notes=("the capture holds statistics: each side went its own way",),
        )
