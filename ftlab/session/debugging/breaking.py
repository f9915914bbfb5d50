"""Breakpoints: where else than at a NaN a debugged run is to stop."""

import warnings
from typing import Any

import torch

from ftlab.records.errors import FtlabWarning, UnknownNameError
from ftlab.records.near import near
from ftlab.records.path_pattern import is_module
from ftlab.replay.breakpoints.breakpoint import Breakpoint, Steps
from ftlab.replay.breakpoints.breakpoints import Breakpoints, Found
from ftlab.replay.breakpoints.predicates import Predicate, predicate
from ftlab.replay.engine import Engine
from ftlab.replay.tracing.modules import clean_name
from ftlab.rules.registry import find_rule
from ftlab.session.observation import run_of


class Breaking:
    """The part of a debugger that keeps breakpoints."""

    _engine: Engine

    @property
    def breakpoints(self) -> Breakpoints:
        """All breakpoints, in the order in which they were set."""
        return self._engine.wishes.breakpoints

    def break_at(
        self,
        module: str = "",
        *,
        op: str = "",
        parameter: str = "",
        step: Steps | None = None,
        phase: str = "",
        when: Any = None,
        finding: str = "",
    ) -> Breakpoint:
        """Stop the run at a place, or where a tensor looks wrong, or both.

        Parameters
        ----------
        module
            Pattern of a module's path or its end, ``"layers.*.mlp"``: what operations
            in it make.
        op
            Pattern of an operation's name, ``"aten.log"``: what they make.
        parameter
            Pattern of a parameter's name or its end, ``"*.lora_A.*"``: its gradient.
        step
            Only in this step, in these steps (a ``range``, a set), or where a function
            of the step's number says so.
        phase
            ``"forward"`` or ``"backward"``, with operations.
        when
            What the tensor must look like: one of `ftlab.when`, its name such as
            ``"near overflow"``, or a function of a tensor that returns true or false.
        finding
            Code or name of a rule, ``"GRD002"``: stop when `ftlab.watch` on the same
            model finds it.

        Returns
        -------
        Breakpoint
            Switch it with ``.enabled``, take it out with ``.remove()``.

        Raises
        ------
        BadValueError
            When the conditions cannot go together.
        UnknownNameError
            When there is no such rule, module or parameter.

        Notes
        -----
        Without a module or an operation the loss and the gradients are looked at, where
        the weights are about to change. A stop is at the first operation whose result
        meets the condition while what it has read does not. In compiled code modules
        and operations are not seen until the step is executed again.

        What looking costs: gradients about as much as their norm; modules one reduction
        of each output; operations a Python call each; a place without ``when`` executes
        the step twice more. Limit them with ``step``.

        Examples
        --------
        ``dbg.break_at(when="near overflow")``

        ``dbg.break_at("layers.*.mlp", when=lambda x: x.abs().max() > 100)``

        ``dbg.break_at(op="aten._softmax", when="saturated", step=range(50, 60))``
        """
        asked: Predicate | None = predicate(when)
        code = find_rule(finding).code if finding else ""
        point = Breakpoint(module, op, parameter, step, phase, asked, code)
        self._check_names(point)
        self.breakpoints.findings = self._findings
        return self.breakpoints.add(point)

    def _check_names(self, point: Breakpoint) -> None:
        """Refuse patterns that no module or parameter of a known model matches."""
        model = getattr(self._engine.moment(), "model", None)
        if not isinstance(model, torch.nn.Module):
            return  # made when training begins
        for option, names, pattern in (
            ("module", model.named_modules(), point.module),
            ("parameter", model.named_parameters(), point.parameter),
        ):
            known = [clean_name(name) for name, _ in names]
            if pattern and not any(is_module(name, pattern) for name in known):
                msg = (
                    f"break_at({option}={pattern!r}): the model has no such {option}; "
                    f"{near(pattern, known)}."
                )
                raise UnknownNameError(msg)

    def _findings(self) -> list[Found]:
        run = run_of(self._engine.moment().model)
        if run is not None:
            return [(each.code, each.name, each.message) for each in run.findings]
        for point in self.breakpoints:
            point.enabled = point.enabled and not point.finding
        msg = (
            "A breakpoint waits for a finding, but the model is not watched: it is "
            "off. Call ftlab.watch(model), or ftlab.watch(trainer), before run()."
        )
        warnings.warn(msg, FtlabWarning, stacklevel=2)
        return []
