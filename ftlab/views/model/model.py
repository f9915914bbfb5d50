"""A model: its modules, its wrappers, what a Trainer sees, and what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ftlab.records.sizes import size
from ftlab.views.model.folding import folded
from ftlab.views.model.html import page
from ftlab.views.model.memory_figure import draw_memory
from ftlab.views.model.words import MARKS, learns, many, seen_words, storage
from ftlab.views.style import count
from ftlab.views.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from ftlab.records.model_anatomy import ModelAnatomy
    from ftlab.views.model.model_widget import Values

NAMED = 4
"""Layers that the text form names."""


class ModelView(View["ModelAnatomy"]):
    """A model's module tree, blocks that are alike folded into one line.

    Attributes
    ----------
    anatomy
        All that was read.

    Examples
    --------
    >>> from ftlab.records.model_anatomy import ModelAnatomy, ModuleFacts
    >>> from ftlab.views.model.model import ModelView
    >>> layer = ModuleFacts("", "Linear", 6, 6, 2, 24, stored=(("float32", 24),))
    >>> ModelView(ModelAnatomy((layer,)))
    Model Linear: 6 parameters, 2 learn, 24 B (float32)
    """

    title = "Model"

    def __init__(self, anatomy: ModelAnatomy, values: Values | None = None) -> None:
        super().__init__(anatomy)
        self.anatomy = anatomy
        self.kinds = folded(anatomy.modules)
        self._values = values

    def headline(self) -> str:
        """Say what it is and how large."""
        root = self.anatomy.modules[0]
        return (
            f"Model {root.kind}: {many(root.parameters)} parameters, {learns(root)}, "
            f"{size(root.bytes)} ({storage(root)})"
        )

    def _table(self, summary: ModelAnatomy) -> pd.DataFrame:
        """Give each module a row."""
        import pandas as pd

        rows = [
            {
                "module": each.path,
                "class": each.kind,
                "parameters": each.parameters,
                "own_parameters": each.own,
                "trainable": each.trainable,
                "bytes": each.bytes,
                "dtype": ", ".join(each.dtypes),
                "device": ", ".join(each.devices),
                "quantised": each.quantised,
                "adapters": "; ".join(each.adapters),
                "hooks": "; ".join(
                    f"{h.kind}: {h.function} {h.at}" for h in each.hooks
                ),
                "tied": "; ".join(f"{t.name} = {t.others[0]}" for t in each.ties),
                "checkpointed": each.checkpointed,
                "wrapper": each.wraps,
                "left": each.left,
                "same_as": each.same_as,
            }
            for each in summary.modules
        ]
        return pd.DataFrame(rows)

    def trainer(self) -> pd.DataFrame:
        """Return what a Trainer decides, a row for each decision."""
        import pandas as pd

        names = ("state", "what", "sees", "means", "bytes", "fix")
        rows = ({n: getattr(each, n) for n in names} for each in self.anatomy.seen)
        return pd.DataFrame(rows, columns=names)

    def _text(self, summary: ModelAnatomy) -> str:
        return "\n".join([self.headline(), *(f"  {each}" for each in self.said())])

    def said(self) -> Iterator[str]:
        """Yield in lines what is to be known before training."""
        it = self.anatomy
        for each in it.wrappers:
            several = f" ({each.count} alike)" if each.count > 1 else ""
            yield f"{each.path or 'outermost'}: {each.kind}, {each.says}{several}"
        for line in odd_lines(self):
            yield f"! {line}"
        for seen in it.seen:
            if seen.state not in ("noted", "works"):
                yield f"{MARKS[seen.state]} {seen_words(seen)}"
        yield from unquantised_words(it)
        for device, (names, held) in it.placed.items():
            some = ", ".join(names[:2]) + (", ..." if len(names) > 2 else "")
            yield f"hf_device_map: {device} has {some}, {size(held)}"
        if it.sizes:
            yield "; ".join(f"{name} {size(held)}" for name, held in it.sizes.items())
        yield from it.remarks

    def size_of(self, summary: ModelAnatomy) -> tuple[float, float]:
        """Leave room for names of parts."""
        return 9.6, 3.6

    def draw_on(self, figure: Figure | SubFigure, summary: ModelAnatomy) -> None:
        """Draw bytes by part and storage, and beside them what training takes."""
        draw_memory(figure, self.kinds, summary.sizes)
        figure.suptitle(self.headline(), fontsize=9, x=0.01, ha="left")

    def _repr_html_(self) -> str:
        return page(self.headline(), list(self.said()), self.kinds)

    def _make_widget(self) -> Any:
        from ftlab.views.model.model_widget import ModelWidget

        return ModelWidget(self.headline(), self.anatomy, self.kinds, self._values)

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None, **_: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(include, exclude)
        return {**data, "text/html": self._repr_html_()}, metadata


def odd_lines(view: ModelView) -> Iterator[str]:
    """Say which blocks differ from the others like them, and in what."""
    for kind in view.kinds:
        for line in kind.lines:
            if line.odd:
                yield f"{line.label} differs: {line.odd}"


def unquantised_words(anatomy: ModelAnatomy) -> Iterator[str]:
    """Say which layers are in floating point in a model of few bits, and the cost."""
    asked = [each for each in anatomy.unquantised if not each.skipped]
    skipped = [each for each in anatomy.unquantised if each.skipped]
    for mark, found, why in (
        ("!", asked, "asked for in {} bits and is not"),
        ("·", skipped, "left out of the {} bits on purpose"),
    ):
        if not found:
            continue
        names = ", ".join(e.path for e in found[:NAMED]) + ", ..." * (
            len(found) > NAMED
        )
        costs = sum(each.bytes - each.predicted for each in found)
        known = [each for each in found if each.measured]
        measured = sum(each.bytes - each.measured for each in known)
        more = f" ({size(measured)} by the layers in few bits)" if known else ""
        words = why.format(found[0].bits)
        yield (
            f"{mark} {count(len(found), 'layer')} {words}: {names}; costs "
            f"{size(costs)}{more}"
        )
