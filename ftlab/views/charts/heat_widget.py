"""The live heatmap: `ColumnsWidget` with codes of layers and parameters."""

from ftlab.views.charts.columns_widget import ColumnsWidget
from ftlab.views.charts.layer_columns import LayerColumns
from ftlab.views.front_end import front_end


class HeatWidget(ColumnsWidget):
    """Layer x step heatmap; the front end holds every parameter as a 16-bit code.

    Matrix rows of the front end: for each statistic the layers, then the parameters. A
    layer is NaN where one of its parameters is not finite.
    """

    name = "heat"
    _esm = front_end("charts/columns.js", "charts/chart.js", "charts/heat.js")
    _css = front_end("style.css")

    def __init__(self, heat: LayerColumns) -> None:
        super().__init__(heat.columns, heat.encode, heat.spec(), heat.rows())

    def follow(self, heat: LayerColumns) -> None:
        """Show the columns that ``heat`` was rebuilt with."""
        with self.hold_sync():
            self.spec = heat.spec()
            self.replace(heat.columns, heat.encode, heat.rows())
