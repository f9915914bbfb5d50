"""Reasons in what got the gradients instead: copies, new leaves, another object.

The calls are those of `ftlab.rules.reasons.unreached`.
"""

from collections.abc import Sequence

from ftlab.records.finding import Place
from ftlab.records.name_words import short_name
from ftlab.rules.reasons.missing import Reason
from ftlab.rules.reasons.unreached_call import MODEL, Call, named, said
from ftlab.rules.words import listed


def of_copies(_: Sequence[Call]) -> Reason:
    """Say that other tensors stood in for the parameters while the model ran."""
    return Reason(
        "gradients-on-copies",
        "While the model ran, a different tensor replaced each of these parameters and "
        "got the gradient: functional_call was not given the model's parameters "
        "(state_dict() and .detach() give new tensors over the same memory).",
        "Pass the parameters themselves, functional_call(model, "
        "dict(model.named_parameters()), ...), or pass the same tensors to the "
        "optimizer.",
        (Place("call", "torch.func.functional_call"),),
    )


def made_anew(calls: Sequence[Call]) -> Reason:
    """Say that the forward made a new parameter of what it had computed."""
    first = calls[0]
    return Reason(
        "weight-made-anew",
        f"{listed([said(call) for call in calls], 3)} ran, and during the forward "
        f"{short_name(first.to)} was replaced by a new Parameter, a new leaf that got "
        "the gradient; what it was computed from got none: nn.Parameter(...) copies "
        "values without the graph.",
        "Compute with the tensor itself, F.linear(x, weight, bias), or use "
        "torch.nn.utils.parametrize or functional_call; do not assign an nn.Parameter "
        "in forward.",
        (*named(calls), *(Place("param", call.to) for call in calls)),
    )


def of_another(calls: Sequence[Call]) -> Reason:
    """Say that an instance runs the forward of another object."""
    first = calls[0]
    whole = first.to == MODEL
    around = "the model" if whole else short_name(first.to)
    return Reason(
        "forward-of-another",
        f"The forward of {around} was set on the instance and belongs to a different "
        f"object: {short_name(first.name)} was never called, and that object's "
        "parameters have the gradients. copy.deepcopy does not rebind such a forward.",
        "Copy first, then compile or patch the copy: del copy.forward, or "
        "copy.forward = torch.compile(copy.forward).",
        (
            Place("call", "model.forward" if whole else f"{first.to}.forward"),
            *named(calls),
        ),
    )


def unreturned(calls: Sequence[Call]) -> Reason:
    """Say that a hook computed something and did not return it."""
    first = calls[0]
    around = list(dict.fromkeys(call.to for call in calls))
    return Reason(
        "hook-returns-nothing",
        f"{listed([said(call) for call in calls], 3)} ran in a forward hook of "
        f"{listed([short_name(each) for each in around], 3)}, whose output stayed the "
        "same tensor: what the hook computed was not returned.",
        f"Return it: def hook(module, inputs, output): return output + "
        f"{short_name(first.name)}(output). A hook that returns None changes nothing.",
        (
            *named(calls),
            Place("call", "register_forward_hook"),
            *(Place("module", each) for each in around),
        ),
    )
