"""The few settings of ftlab, each settable for good or within a scope."""

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, get_args

from ftlab.records.errors import BadValueError, UnknownNameError

WidgetMode = Literal["auto", "anywidget", "image", "static"]


class Options:
    """Settings that hold for the whole process.

    Attributes
    ----------
    widgets : {"auto", "anywidget", "image", "static"}
        How views show themselves in a notebook: ``anywidget`` draws in the browser,
        ``image`` sends pictures (for front ends that cannot load anywidget), ``static``
        stores one picture, ``auto`` picks the first that works.

    Examples
    --------
    >>> from ftlab.records.settings import Options
    >>> options = Options()
    >>> with options.scoped(widgets="static"):
    ...     options.widgets
    'static'
    >>> options.widgets
    'auto'
    >>> options.widgets = "svg"
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: options.widgets was set to 'svg'; allowed are \
'auto', 'anywidget', 'image', 'static'.
    """

    _allowed: ClassVar[dict[str, tuple[Any, ...]]] = {"widgets": get_args(WidgetMode)}
    widgets: WidgetMode

    def __init__(self) -> None:
        object.__setattr__(self, "widgets", "auto")

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._allowed:
            msg = (
                f"There is no option {name!r}; options are {', '.join(self._allowed)}."
            )
            raise UnknownNameError(msg)
        allowed = self._allowed[name]
        if value not in allowed:
            words = ", ".join(repr(choice) for choice in allowed)
            msg = f"options.{name} was set to {value!r}; allowed are {words}."
            raise BadValueError(msg)
        object.__setattr__(self, name, value)

    @contextlib.contextmanager
    def scoped(self, **values: object) -> Iterator["Options"]:
        """Set options within a ``with`` block and restore them afterwards."""
        before = {name: getattr(self, name, None) for name in values}
        try:
            for name, value in values.items():
                setattr(self, name, value)
            yield self
        finally:
            for name, value in before.items():
                if name in self._allowed:
                    object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Options(widgets={self.widgets!r})"


options = Options()
"""The one instance that every floor reads."""
