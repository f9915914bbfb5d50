"""The gallery: real-world faults of fine-tuning runs, each with its healthy twin.

A file here is one fault, as a user would have written it, on a tiny model: teaching
material, and the benchmark for the rules. The registry (`ftlab.faults.registry`) finds
the files; nothing has to be registered. `ftlab.score_faults` runs them all.

Examples
--------
>>> import ftlab
>>> fault = ftlab.faults.load("lora-b-frozen")
>>> print(fault.symptom)
the tuned model answers exactly like the base model
>>> case = fault.build(fixed=False)
>>> losses = case.run(3)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ftlab.faults.registry import (
        list_faults as list_faults,
        list_healthy as list_healthy,
        load as load,
    )

__all__ = ["list_faults", "list_healthy", "load"]


def __getattr__(name: str) -> Any:
    """Load the registry, and torch with it, when a name is first used."""
    if name in __all__:
        from ftlab.faults import registry

        return getattr(registry, name)
    msg = f"ftlab.faults has no {name!r}; it has {', '.join(__all__)}."
    raise AttributeError(msg, name=name)


def __dir__() -> list[str]:
    return list(__all__)
