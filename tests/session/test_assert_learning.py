"""`ftlab.assert_learning` in loops of every kind, compiled ones above all."""

import gc

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError, NotLearningError
from tests.models import batches, tiny_lora, update

BATCHES = list(batches(4))
SLOW = [
    pytest.param(each, marks=pytest.mark.slow) for each in ("aot_eager", "inductor")
]
BACKENDS = ["eager", *SLOW]


def asserted(model, optimizer, work):
    """Do one step's work within the assertion; returns what it found."""
    with ftlab.assert_learning(model, optimizer) as learning:
        work()
    return learning


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def adamw(model, lr=1e-3):
    trainable = [each for each in model.parameters() if each.requires_grad]
    return torch.optim.AdamW(trainable, lr=lr, weight_decay=0.0)


def step(model, optimizer, index=0):
    optimizer.zero_grad()
    model(**BATCHES[index]).loss.backward()
    optimizer.step()


def weights(model):
    return {name: each.detach().clone() for name, each in model.named_parameters()}


def small():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)
    )


def small_step(model, optimizer):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()


def whole(model, backend):
    return torch.compile(model, backend=backend)


def in_place(model, backend):
    model.compile(backend=backend)
    return model


def layers(model, backend):
    blocks = next(m for m in model.modules() if isinstance(m, torch.nn.ModuleList))
    for index, block in enumerate(blocks):
        blocks[index] = torch.compile(block, backend=backend)
    return model


def regions(model, backend):
    blocks = next(m for m in model.modules() if isinstance(m, torch.nn.ModuleList))
    for block in blocks:
        block.compile(backend=backend)
    return model


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("compiled", [whole, in_place, layers, regions])
def test_is_quiet_where_everything_learns(compiled, backend):
    model = compiled(tiny_lora(), backend)
    optimizer = adamw(model)
    for index in range(3):
        step(model, optimizer, index)
        learning = ftlab.assert_learning(model, optimizer)
    assert len(learning.updated) == 12
    assert not learning.idle
    assert not any("_orig_mod" in name for name in learning.updated)


@pytest.mark.parametrize("compiled", [whole, in_place, layers, regions])
def test_names_what_a_loss_never_reaches(compiled):
    model = tiny_lora()
    model.base_model.model.unused = torch.nn.Linear(2, 2)
    model = compiled(model, "eager")
    optimizer = adamw(model)
    with pytest.raises(NotLearningError) as caught:
        asserted(model, optimizer, lambda: step(model, optimizer))
    assert "2 of 14 trainable parameters" in str(caught.value)
    assert "base_model.model.unused.weight, base_model.model.unused.bias" in str(
        caught.value
    )
    assert "gradient is None" in str(caught.value)
    assert "The model is compiled" in str(caught.value)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_holds_for_a_step_that_is_compiled_as_a_whole(backend):
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile(backend=backend)
    def train(inputs):
        loss = model(inputs).sum()
        update(loss, optimizer)
        return loss.detach()

    for _ in range(3):
        with ftlab.assert_learning(model, optimizer) as learning:
            train(torch.ones(2, 4))
    assert len(learning.updated) == 4
    model[0].requires_grad_(False)
    train(torch.ones(2, 4))
    model[0].requires_grad_(True)

    def cut():
        model[2](model[0](torch.ones(2, 4)).tanh().detach()).sum().backward()
        optimizer.step()

    with pytest.raises(NotLearningError, match=r"2 of 4.*\n  0\.\{weight,bias\}"):
        asserted(model, optimizer, cut)


def test_holds_for_fullgraph():
    model = small()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with ftlab.assert_learning(compiled, optimizer) as learning:
        small_step(compiled, optimizer)
    assert learning.updated == ("0.weight", "0.bias", "2.weight", "2.bias")


def test_finds_what_a_graph_without_guards_takes_for_frozen():
    model = small()
    model[0].requires_grad_(False)
    skip = torch.compiler.skip_guard_on_all_nn_modules_unsafe
    options = {"guard_filter_fn": skip}
    compiled = torch.compile(model, backend="aot_eager", options=options)
    compiled(torch.ones(2, 4)).sum().backward()
    model.requires_grad_(True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    message = r"2 of 4 .*\n  0\.\{weight,bias\}: their gradient is None\n  The model is"
    with pytest.raises(NotLearningError, match=message):
        asserted(compiled, optimizer, lambda: small_step(compiled, optimizer))


def test_changes_no_number():
    plain, watched = tiny_lora(), tiny_lora()
    for model, looked_at in ((plain, False), (watched, True)):
        optimizer = adamw(model)
        for index in range(3):
            step(model, optimizer, index)
            if looked_at:
                ftlab.assert_learning(model, optimizer)
    before, after = weights(plain), weights(watched)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_recompiles_nothing():
    model = whole(tiny_lora(), "eager")
    optimizer = adamw(model)
    step(model, optimizer)
    step(model, optimizer)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for _ in range(2):
            step(model, optimizer)
            ftlab.assert_learning(model, optimizer)


def test_the_first_step_of_lora_is_excused_and_no_other():
    model = tiny_lora()
    optimizer = adamw(model)
    with ftlab.assert_learning(model, optimizer) as first:
        step(model, optimizer)
    assert set(first.excused.values()) == {"first step"}
    assert all("lora_A" in name for name in first.excused)
    with ftlab.assert_learning(model, optimizer) as second:
        step(model, optimizer)
    assert not second.excused


def test_what_decays_beside_a_frozen_zero_learns_nothing():
    model = tiny_lora()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("lora_A" in name)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    before = weights(model)
    with (
        pytest.raises(NotLearningError, match="lora_B is 0 and frozen"),
        ftlab.assert_learning(model, optimizer),
    ):
        step(model, optimizer)
    assert any(not torch.equal(before[n], now) for n, now in weights(model).items())


def test_a_frozen_second_factor_that_is_not_zero_is_fine():
    model = tiny_lora()
    step(model, optimizer := adamw(model))
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("lora_A" in name)
    with ftlab.assert_learning(model, optimizer):
        step(model, optimizer)


def test_a_rate_of_zero_is_excused():
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with ftlab.assert_learning(model, optimizer) as learning:
        small_step(model, optimizer)
    assert set(learning.excused.values()) == {"lr 0"}


def test_a_step_that_the_scaler_skipped_is_excused():
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    with ftlab.assert_learning(model, optimizer) as learning:
        scaler.scale(model(torch.ones(2, 4)).sum() * torch.inf).backward()
        scaler.step(optimizer)
        scaler.update()
    assert set(learning.excused.values()) == {"skipped"}


def test_says_when_nothing_was_stepped():
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(torch.ones(2, 4)).sum()
    with pytest.raises(NotLearningError, match=r"was optimizer\.step"):
        asserted(model, optimizer, loss.backward)


def test_names_parameters_that_took_the_place_of_others():
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def replaced():
        model[0].weight = torch.nn.Parameter(model[0].weight.detach().clone())
        small_step(model, optimizer)

    with pytest.raises(NotLearningError, match=r"0\.weight: replaced by another"):
        asserted(model, optimizer, replaced)


def test_names_parameters_that_no_optimizer_holds():
    model = small()
    optimizer = torch.optim.SGD(model[0].parameters(), lr=0.1)
    with pytest.raises(NotLearningError, match=r"2\.\{weight,bias\}: in no optimizer"):
        asserted(model, optimizer, lambda: small_step(model, optimizer))


def test_an_update_below_the_precision_is_named_so():
    model = torch.nn.Linear(2, 1).bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)

    def tiny():
        model(torch.ones(1, 2, dtype=torch.bfloat16)).sum().backward()
        optimizer.step()

    with pytest.raises(NotLearningError, match="below the precision"):
        asserted(model, optimizer, tiny)


def test_finds_the_optimizer_by_itself():
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ftlab.assert_learning(model)
    small_step(model, optimizer)
    assert len(ftlab.assert_learning(model).updated) == 4


def test_an_error_of_the_step_passes_through():
    model = small()
    with pytest.raises(ZeroDivisionError), ftlab.assert_learning(model):
        raise ZeroDivisionError


def test_keeps_no_model_alive():
    import weakref

    model = small()
    ftlab.assert_learning(model)
    reference = weakref.ref(model)
    del model
    gc.collect()
    assert reference() is None


def test_refuses_what_is_no_model():
    with pytest.raises(BadValueError, match="found list"):
        ftlab.assert_learning([])
