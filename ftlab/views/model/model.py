"""A model: its modules, its wrappers, what a Trainer sees, and what that costs."""

from dataclasses import asdict
from typing import Any

from ftlab.records.model_anatomy import ModelAnatomy
from ftlab.records.sizes import size
from ftlab.views.drawn import Canvas, DataFrame
from ftlab.views.model.folding import LISTS, folded
from ftlab.views.model.html import page
from ftlab.views.model.memory_figure import draw_memory
from ftlab.views.model.model_widget import Values
from ftlab.views.model.words import MARKS, learns, many, notes, storage
from ftlab.views.view import Rows, View, widget_mode, with_widget


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
        held = f"{size(root.bytes)} ({storage(root)})" if root.bytes else "empty"
        told = [f"{many(root.parameters) or 'no'} parameters", learns(root), held]
        return f"Model {root.kind}: {', '.join(filter(None, told))}"

    def _table(self, summary: ModelAnatomy) -> Rows:
        """Give each module a row."""
        texts = ("quantised", "checkpointed", "wraps", "left", "same_as")
        counts = ("parameters", "own", "trainable", "bytes")
        lists = ("dtypes", "devices", "adapters", "hooks", "ties")
        return [
            {"module": each.path, "class": each.kind}
            | {name: getattr(each, name) for name in (*counts, *texts)}
            | {name: "; ".join(getattr(each, name)) for name in lists}
            for each in summary.modules
        ]

    def trainer(self) -> DataFrame:
        """Return what a Trainer decides, a row for each decision."""
        import pandas as pd

        return pd.DataFrame([asdict(each) for each in self.anatomy.seen])

    def _text(self, summary: ModelAnatomy) -> str:
        return "\n".join([self.headline(), *(f"  {each}" for each in self.said())])

    def said(self) -> list[str]:
        """Return in lines what is to be known before training, each with a mark."""
        loud = [e for e in self.anatomy.seen if e.state not in ("noted", "works")]
        told = [(e, " ← ".join(filter(None, (e.means, e.sees, e.fix)))) for e in loud]
        lines = [e for k in self.kinds if k.facts.kind not in LISTS for e in k.lines]
        return [
            *(f"! {line.label} differs: {line.odd}" for line in lines if line.odd),
            *(f"{MARKS[each.state]} {each.what}: {words}" for each, words in told),
            *notes(self.anatomy),
        ]

    def draw_on(self, figure: Canvas, summary: ModelAnatomy) -> None:
        """Draw bytes by part and storage, and beside them what training takes."""
        draw_memory(figure, self.kinds, summary.sizes)
        figure.suptitle(self.headline(), fontsize=9, x=0.01, ha="left")

    def _repr_html_(self) -> str:
        return page(self.headline(), self.said(), self.kinds)

    def _make_widget(self) -> Any:
        from ftlab.views.model.model_widget import ModelWidget, spec_of

        spec = spec_of(self.headline(), self.anatomy, self.kinds)
        return ModelWidget(spec, self._values)

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None, **_: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        data = {"text/plain": repr(self), "text/html": self._repr_html_()}
        return (
            (data, {})
            if widget_mode() == "static"
            else with_widget(data, self.widget())
        )
