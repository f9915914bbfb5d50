"""The loss as it is reported, and by the plain formula."""

import pytest
import torch
from torch.nn.functional import cross_entropy

import ftlab
from ftlab.experiments.reported_loss import formulas
from tests.experiments.set_ups import llama, lora, masked_lm, named, padded, tried
from tests.session.scenarios import trainer


def sharp():
    """Return a model whose losses by token are far apart, as a trained one's are."""
    model = llama()
    with torch.no_grad():
        model.lm_head.weight.mul_(10)
    return model


def tokens(model, batch, shift=1, **settings):
    """Return the cross entropy of labels that stand ``shift`` places on."""
    logits = model(
        input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
    ).logits
    ahead = batch["labels"][:, shift:]
    return cross_entropy(
        logits[:, : ahead.shape[1]].flatten(0, 1), ahead.flatten(), **settings
    )


def shifted_twice(model, batch):
    labels = batch["labels"].roll(-1, 1)
    labels[:, -1] = -100
    return model(**batch | {"labels": labels}).loss


def over_all_tokens(model, batch):
    return tokens(model, batch, reduction="none").mean()


def of_rows(model, batch, reduce=torch.mean):
    rows = [{k: v[row : row + 1] for k, v in batch.items()} for row in range(4)]
    return reduce(torch.stack([tokens(model, row) for row in rows]))


def wrong_way(model, batch):
    logits = model(**batch).logits[:, 1:]
    return cross_entropy(logits.flatten(0, 1), batch["labels"][:, :-1].flatten())


def over_the_first_too(model, batch):
    count = (batch["labels"] != -100).sum()
    return tokens(model, batch, reduction="sum") / count


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (llama, None),
        (lambda: llama().bfloat16(), None),
        (lambda: lora(llama(attention_dropout=0.5), lora_dropout=0.5).train(), None),
        (llama, tokens),
        (llama, over_the_first_too),  # as a Trainer counts
    ],
    ids=["own", "bf16", "dropout", "hand-written", "counted"],
)
def test_the_plain_formula_is_recognised(model, loss):
    outcome = tried("reported-loss", model(), padded(), loss=loss)
    assert outcome.state == "holds", outcome.says


@pytest.mark.parametrize(
    "settings",
    [{}, {"label_smoothing_factor": 0.1}, {"gradient_accumulation_steps": 3}],
    ids=["plain", "smoothed", "accumulated"],
)
def test_a_trainers_loss_is_what_its_arguments_ask_for(settings):
    (outcome,) = ftlab.prove(trainer(**settings), only="reported-loss")
    assert outcome.state == "holds", outcome.says


def test_it_does_not_apply_to_a_masked_model():
    outcome = tried("reported-loss", *masked_lm())
    assert outcome.state == "does not apply"


@pytest.mark.parametrize(
    ("model", "batch", "says"),
    [
        (
            llama(),
            {k: v for k, v in padded().items() if k != "labels"},
            "the batch has no labels by token",
        ),
        (torch.nn.Linear(2, 1), {"input": torch.ones(3, 2)}, "no input_ids of shape"),
    ],
)
def test_it_does_not_apply_without_labels_by_token(model, batch, says):
    outcome = tried("reported-loss", model, batch)
    assert outcome.state == "does not apply"
    assert says in outcome.says


@pytest.mark.parametrize(
    ("loss", "says"),
    [
        (lambda m, b: tokens(m, b, 0), "labels that are not shifted"),
        (shifted_twice, "labels that are shifted twice"),
        (wrong_way, "labels shifted the wrong way"),
        (lambda m, b: tokens(m, b, reduction="sum"), "a sum over all labels"),
        (lambda m, b: of_rows(m, b, torch.sum), "a sum over rows of their means"),
        (of_rows, "the mean over rows of their means"),
        (over_all_tokens, "a divisor that counts masked labels too"),
    ],
)
@pytest.mark.parametrize("model", [llama, sharp], ids=["fresh", "trained"])
def test_a_wrong_formula_is_told_by_its_name(loss, says, model):
    batch = padded(lengths=(40, 9, 5, 30))  # a trained label in the first place
    batch["labels"][0, 0] = 5
    outcome = tried("reported-loss", model(), batch, loss=loss)
    assert named(outcome) == ["loss"]
    assert outcome.says.endswith(f"it is what {says} gives")


def test_a_trainers_own_loss_function_is_asked():
    def summed(outputs, labels, num_items_in_batch=None):
        logits = outputs.logits[:, :-1].flatten(0, 1)
        return cross_entropy(logits, labels[:, 1:].flatten(), reduction="sum")

    each = trainer()
    each.compute_loss_func = summed
    (outcome,) = ftlab.prove(each, only="reported-loss")
    assert named(outcome) == ["loss"]
    assert "it is what a sum over all labels gives" in outcome.says


@pytest.mark.parametrize(
    "loss",
    [
        lambda m, b: m(**b).loss + 0.1 * m(**b).logits.square().mean(),
        lambda m, b: tokens(m, b, label_smoothing=0.1),
        lambda m, b: 2 * m(**b).loss,
    ],
    ids=["term", "smoothed", "weighted"],
)
def test_a_loss_of_its_own_is_not_decided(loss):
    outcome = tried("reported-loss", sharp(), padded(), loss=loss)
    assert outcome.state == "cannot be decided"
    assert "a term of its own" in outcome.says


def test_no_two_formulas_give_the_same():
    dice = torch.Generator().manual_seed(0)
    logits, labels = torch.randn(4, 12, 9, generator=dice), padded()["labels"] % 9
    labels[0, 5:8] = labels[2, :9] = -100
    values = [value for _, value in formulas(logits, labels)]
    assert len({round(value, 3) for value in values}) == len(values)
