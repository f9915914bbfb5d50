"""A moment of a replay as text: the module tree, the operations, what led there."""

from collections.abc import Iterator

from ftlab.records.trace import TracedOp
from ftlab.views.replay.grades import METERS
from ftlab.views.replay.scene import Scene, made_words

WIDEST = 60
"""Characters of a module's column."""
LINKS = 3
"""Links of the chain that are written out."""
CULPRIT = "<- it begins here"


def replay_text(scene: Scene) -> str:
    """Return the lines; they never vary for the same trace and position."""
    lines = [scene.trace.title]
    lines += [f"  because {scene.cause}"] if scene.cause else []
    lines += [scene.standing(), *modules(scene), "operations"]
    lines += [_operation(scene, op) for op in scene.nearby]
    lines.append(f"  line    {scene.line or 'unknown'}")
    lines += [f"  from    {link!r}" for link in scene.chain[:LINKS]]
    more = len(scene.chain) - LINKS
    lines += [f"          and {more} more, see .chain"] if more > 0 else []
    return "\n".join(line.rstrip() for line in lines)


def modules(scene: Scene) -> Iterator[str]:
    """Return the module tree, a line for each row, with a heading."""
    labels = ["  " * row.depth + _named(row.label, row.kind) for row in scene.rows]
    labels = [label if len(label) <= WIDEST else label[:57] + "..." for label in labels]
    width = max([*map(len, labels), len("modules")])
    titles = "".join(f"{name:<15}" for name in scene.columns)
    yield f"{'modules':<{width + 2}}  {titles}"
    deepest = max((i for i, row in enumerate(scene.rows) if row.culprit), default=-1)
    for at, (row, label) in enumerate(zip(scene.rows, labels, strict=True)):
        cells = "".join(_cell(scene, index) for index in row.worst)
        mark = CULPRIT if at == deepest else ""
        yield f"  {label:<{width}}  {cells}{mark}"


def _named(label: str, kind: str) -> str:
    return f"{label} ({kind})" if kind else label


def _cell(scene: Scene, index: int) -> str:
    if index < 0:
        return f"{'':<15}"
    return f"{METERS[scene.grades.of[index]]:<5}{scene.range_of(index):<10}"


def _operation(scene: Scene, op: TracedOp) -> str:
    here = ">" if op.index == scene.at else " "
    meter = "" if op.making == "view" else METERS[scene.grades.of[op.index]]
    made = made_words(op)
    mark = f"  {CULPRIT}" if op.index == scene.trace.culprit else ""
    return f"{here} {op.index:>5} {op.op:<28} {meter:<5}{made}, {scene.place(op)}{mark}"
