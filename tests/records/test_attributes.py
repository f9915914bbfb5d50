"""Reading what a user's module holds runs nothing of theirs, anywhere in ftlab."""

import ast
import functools
import inspect
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

import ftlab
from ftlab.records.attributes import attribute_of, has_attribute
from tests.models import batches, tiny_llama, tiny_lora

SOURCE = Path(ftlab.__file__).parent
TENSORS = {"weight", "bias", "in_proj_weight", "in_proj_bias"}
MODULES = {"module", "layer", "base", "inner", "linear", "head", "root", "model"}


class Own(nn.Module):
    plain = 3

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.setting = "set"

    @property
    def computed(self) -> int:
        raise ValueError

    def method(self) -> str:
        return self.setting

    def __getattr__(self, name: str) -> Any:
        if name.startswith("made_up"):
            raise ValueError
        return super().__getattr__(name)


def test_finds_what_is_there() -> None:
    own = Own()
    assert attribute_of(own, "linear") is own.linear
    assert attribute_of(own.linear, "weight") is own.linear.weight
    assert attribute_of(own, "setting") == "set"
    assert attribute_of(own, "plain") == 3
    assert attribute_of(own, "method")() == "set"


def test_computes_nothing_and_asks_nobody() -> None:
    assert attribute_of(Own(), "computed", "nothing") == "nothing"
    assert attribute_of(Own(), "made_up", "nothing") == "nothing"
    assert not has_attribute(Own(), "made_up")


def test_tells_what_is_none_from_what_is_not_there() -> None:
    layer = nn.Linear(2, 2, bias=False)
    assert has_attribute(layer, "bias")
    assert attribute_of(layer, "bias", "nothing") is None
    assert not has_attribute(layer, "missing")


def test_gives_the_trained_tensor_of_a_parametrized_one() -> None:
    layer = parametrizations.spectral_norm(nn.Linear(2, 2))
    before = layer.parametrizations.weight[0]._u.clone()
    assert attribute_of(layer, "weight") is layer.parametrizations.weight.original
    assert torch.equal(before, layer.parametrizations.weight[0]._u)
    assert attribute_of(parametrizations.weight_norm(nn.Linear(2, 2)), "weight") is None


def test_follows_the_wrappers_of_libraries() -> None:
    model = tiny_lora()
    assert attribute_of(model, "config") is model.config
    assert attribute_of(torch.compile(model), "peft_config") is model.peft_config
    assert attribute_of(model, "get_input_embeddings")() is model.get_input_embeddings()


# --- nothing else in ftlab asks a module of the user's --------------------------------


class Tripwires:
    """Make modules note each line of ftlab that asks them for what may be computed."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def put_on(self, model: nn.Module) -> nn.Module:
        for module in model.modules():
            if not type(module).__module__.startswith("peft."):
                module.__class__ = self.wired(type(module))
        return model

    @functools.cache  # noqa: B019  one class for each class
    def wired(self, kind: type[nn.Module]) -> type[nn.Module]:
        def ask(module: Any, name: str) -> Any:
            place = caller_in_ftlab()
            if place and not self.lies_there(module, name):
                self.asked.add(f"{place} asks {kind.__name__} for {name}")
            return kind.__getattribute__(module, name)

        inside = {"__getattribute__": ask, "__module__": kind.__module__}
        return type(kind.__name__, (kind,), inside)

    @staticmethod
    def lies_there(module: nn.Module, name: str) -> bool:
        if name.startswith("__") or name in object.__getattribute__(module, "__dict__"):
            return True
        try:
            found = inspect.getattr_static(type(module), name)
        except AttributeError:
            return False
        return isinstance(found, types.FunctionType) or not hasattr(found, "__get__")


def caller_in_ftlab() -> str:
    """Name the line that asks, where it is one of ftlab itself."""
    frame = sys._getframe(2)
    name = frame.f_globals.get("__name__", "")
    ours = name.startswith("ftlab.") and not name.startswith("ftlab.faults.")
    return f"{name}:{frame.f_lineno}" if ours else ""


def a_llama() -> nn.Module:
    return tiny_llama()


def with_an_adapter() -> nn.Module:
    return tiny_lora()


def with_dora_and_saved_modules() -> nn.Module:
    return tiny_lora(use_dora=True, bias="lora_only", modules_to_save=["lm_head"])


def with_token_indices() -> nn.Module:
    return tiny_lora(trainable_token_indices=[1, 2])


MADE = (a_llama, with_an_adapter, with_dora_and_saved_modules, with_token_indices)


@pytest.mark.parametrize("make", MADE)
def test_a_module_is_asked_for_nothing(make: Any, tmp_path: Path) -> None:
    wires = Tripwires()
    model = wires.put_on(make())
    rows = list(batches(4))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])

    def step(batch: Any) -> Any:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        return loss

    ftlab.preflight(model, optimizer=optimizer, batches=rows[:2])
    with ftlab.watch(
        model, optimizer, run_dir=tmp_path / "run", interval=1, activations=True
    ):
        for batch in rows:
            step(batch)
        if hasattr(model, "merge_adapter"):
            model.merge_adapter()
            model.unmerge_adapter()
        model.save_pretrained(tmp_path / "saved")
    with ftlab.debug(step, rows, model=model, optimizer=optimizer) as debugger:
        debugger.run()
    assert not wires.asked, "\n".join(sorted(wires.asked))


def asks(node: ast.AST) -> bool:
    """Tell a line of code that asks a module for a tensor by the tensor's name."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr in TENSORS and node.value.id in MODULES
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"getattr", "hasattr"}
        and ast.unparse(node.args[0]) != "config"
        and isinstance(node.args[1], ast.Constant)
        and node.args[1].value in TENSORS
    )


def test_the_tensors_of_a_module_are_read_in_one_way() -> None:
    asked = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for floor in ("probes", "replay", "session")
        for path in sorted((SOURCE / floor).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if asks(node)
    ]
    assert asked == []
