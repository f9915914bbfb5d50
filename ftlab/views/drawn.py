"""Types of matplotlib and pandas, under names that import neither.

Both are slow to import, so views do it where something is drawn or a table is made.
"""

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure
    import pandas as pd

Axes: TypeAlias = "matplotlib.axes.Axes"
Figure: TypeAlias = "matplotlib.figure.Figure"
Canvas: TypeAlias = "matplotlib.figure.Figure | matplotlib.figure.SubFigure"
"""What is drawn on: a figure, or a part of one."""
DataFrame: TypeAlias = "pd.DataFrame"
