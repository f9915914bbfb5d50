"""What is kept of a comparison."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ftlab.executions.listening import Place
from ftlab.executions.outlines import heat, outcome, tokens_of
from ftlab.executions.tokens import Grid
from tests.executions.sides import difference, llama, llamas, padded


def free(**ratios):
    values = {
        Place(name.replace("_", "."), 0, "out", ""): torch.tensor(ratio)
        for name, ratio in ratios.items()
    }
    values[Place("a", 0, "in", "0")] = torch.tensor([9.0, 9.0])
    return SimpleNamespace(values=values)


def model_returns(*ratios):
    places = [Place("", 0, "out", str(at)) for at in range(len(ratios))]
    values = map(torch.tensor, ratios)
    return SimpleNamespace(values=dict(zip(places, values, strict=True)))


def test_tokens_count_before_a_loss():
    assert outcome(model_returns([9.0], [1.0, 7.0])) == 7
    assert outcome(model_returns([5.0])) == 5
    assert np.isnan(outcome(free(a=[1.0, 2.0])))


def test_the_heatmap_has_a_row_for_each_module_that_returns_tokens():
    modules, values = heat(free(a=[1.0, 2.0], b=[9.0], a_c=[3.0, 4.0]))
    assert modules == ("a", "a.c")
    assert values.tolist() == [[1, 2], [3, 4]]
    assert heat(free(a=[1.0, 2.0], b=[1.0, 2.0, 3.0]))[0] == ()


def test_tokens_have_rows_and_positions():
    assert tokens_of(Grid.of(padded()))[7:9].tolist() == [[0, 7], [1, 3]]
    assert tokens_of(None).shape == (0, 2)


def test_next_token_distributions_are_those_of_the_models():
    a, b = llamas()
    b.lm_head.weight.data[5] += 2 * a.lm_head.weight.data.std()
    found, batch = difference(a, b), padded()
    with torch.no_grad():
        one, other = (
            each(**batch).logits[batch["attention_mask"] == 1].double().log_softmax(-1)
            for each in (a, b)
        )
    kl = torch.nn.functional.kl_div(other, one, reduction="none", log_target=True)
    assert found.kl == pytest.approx(kl.sum(-1).numpy(), rel=1e-3, abs=1e-12)
    differ = (one.argmax(-1) != other.argmax(-1)).nonzero()
    assert found.greedy == (int(differ[0]) if len(differ) else -1)
    assert len(found.kl) == len(found.tokens)


def test_every_tensor_has_a_row_and_modules_of_one_side_are_named():
    a, b = llamas()
    b.model.layers[1].mlp.act_fn = torch.nn.Sequential(torch.nn.SiLU())
    found = difference(a, b)
    assert found.alone == ((), ("model.layers.1.mlp.act_fn.0",))
    assert found.equal
    kinds = {(row.phase, row.kind) for row in found.rows}
    assert ("forward", "weight") not in kinds
    assert ("backward", "weight") in kinds
    assert all(row.relative < 1e-5 for row in found.rows)


def test_the_heat_of_a_model_is_by_token():
    found = difference(llama(), llama())
    assert found.modules[-1] == "the model"
    assert found.heat.shape == (len(found.modules), len(found.tokens))
