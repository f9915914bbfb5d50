"""The live heatmap: `ColumnsWidget` with codes of layers and parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ftlab.views.columns_widget import ColumnsWidget, Encode, front_end
from ftlab.views.style import front_end_scale, quantise

if TYPE_CHECKING:
    from ftlab.views.gradients_summary import GradientColumns


class HeatWidget(ColumnsWidget):
    """Layer x step heatmap; the front end holds every parameter as a 16-bit code.

    Matrix rows of the front end: layers' norms, parameters' norms, layers' maxima,
    parameters' maxima. A layer is NaN where one of its parameters is not finite.
    """

    name = "heat"
    _esm = front_end("columns.js", "chart.js", "heat.js")
    _css = front_end("style.css")

    def __init__(self, gradients: GradientColumns) -> None:
        spec = {"scale": front_end_scale(), "statistics": ["norm", "max"]}
        encode = encoder(gradients)
        super().__init__(gradients.columns, encode, spec, rows_of(gradients))

    def follow(self, gradients: GradientColumns) -> None:
        """Show the columns that ``gradients`` was rebuilt with."""
        self.replace(gradients.columns, encoder(gradients), rows_of(gradients))


def rows_of(gradients: GradientColumns) -> list[dict[str, Any]]:
    """Name the front end's rows, which stand once for each statistic."""
    layers: list[dict[str, Any]] = [{"layer": name} for name in gradients.layers]
    of = gradients.layer_of.tolist()
    return layers + [
        {"parameter": record.name, "in": layer}
        for record, layer in zip(gradients.names, of, strict=True)
    ]


def encoder(gradients: GradientColumns) -> Encode:
    """Return the function from the view's columns to the front end's codes."""
    count, width = len(gradients.layers), len(gradients.names)

    def encode(values: NDArray[np.float32]) -> NDArray[np.uint16]:
        norm, top, bad = (values[:, at * count : (at + 1) * count] for at in range(3))
        first = 5 * count
        parameters = values[:, first : first + width], values[:, first + width :]
        layers = [np.where(bad > 0, np.nan, level) for level in (norm, top)]
        parts = [layers[0], parameters[0], layers[1], parameters[1]]
        return quantise(np.concatenate(parts, 1))

    return encode
