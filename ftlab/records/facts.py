"""What was read of the live objects before the run, and again when it changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a rule may need that is no time series.

    Attributes
    ----------
    step
        The step from which on these facts hold; 0 for those read before the run.
    versions
        Package name to version string.
    model
        Class, dtype, device, PEFT configuration by adapter (``peft``), 4-bit layers,
        checkpointing, tied parameters; ``adapters``, how PEFT was put on: ``chain`` of
        what carries configurations, outermost first; ``adapters`` by name (``layers``,
        ``patterns``, ``asked`` with the modules that each entry of the configuration
        matched, ``leftover``, ``unheeded`` exclusions, ``misread`` indices of layers,
        ``cut`` entries that are parts of names, ``idle`` settings without effect,
        ``parts`` with what is trainable and in which dtypes, ``rescaled`` sides,
        ``switched_off``, ``dropouts`` asked for and made, ``init``, ``invocation`` of
        an activated LoRA);
        ``combinations``, adapters that are sums of others; ``blocks``, the linear-like
        weights and how many carry an adapter; ``quantised``, linear layers on both
        sides of quantisation; ``heads``, frozen task heads; ``outside``, what is
        trainable besides. ``saving``, what saving would write (``unsaved`` trainable
        parameters, ``renamed`` keys, a ``hidden`` PeftModel);
        ``start``, how the run began: ``adapters`` (pairs, how many B are 0, scaling,
        whether ``active``), samples of the ``base`` weights, the slope of each on its
        ``delta_in_base``, the adapter's ``file`` against the model, its ``base_file``
        where weights of it were not read, the run it was ``trained_as``,
        ``optimizer_states``, how they fit their parameters (``optimizer_fit``), the
        rates optimizers were ``made_with`` and the ``base_rates`` of schedules.
    optimizers
        One mapping per optimizer: ``class``, ``fused``, ``defaults`` of its settings,
        ``groups`` (each with ``lr``, ``weight_decay``, ``ids`` of the parameters it
        holds that the model has, ``unread`` numbers under keys without a default),
        ``foreign`` (shapes of held parameters that the model does not have),
        ``misfits`` (names of parameters whose moments have another shape) and
        ``missing`` (names of trainable parameters in no group, in the first mapping)
        and ``waiting`` (those of them that an optimizer holds which is not known yet).
    schedulers
        One mapping per scheduler: ``class``, what its schedule was ``asked`` to be,
        and for a chain which of the others it ``holds`` and steps itself.
    training
        Trainer arguments (``args``), those that differ from their defaults (``asked``),
        what the trainer has made of them (``made``) and of its data (``loader``), what
        was so ``before`` it trains; tokenizer facts, whether there is a scaler,
        ``world_size``.
    """

    step: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    optimizers: tuple[Mapping[str, Any], ...] = ()
    schedulers: tuple[Mapping[str, Any], ...] = ()
    training: Mapping[str, Any] = field(default_factory=dict)
