from ftlab.rules.reading.loss_rows import loss_rows
from ftlab.runlog.run import Run
from tests.rules.numeric.losses import losses


def test_a_row_holds_its_columns_and_how_its_graph_reads():
    (row,) = loss_rows(losses({"token_loss": 2.0}, {"token_loss": 1.0}, factor=3.0))
    assert row.steps.tolist() == [0, 1]
    assert row.columns["token_loss"].tolist() == [2.0, 1.0]
    assert (row.factor, row.classes, row.text("head")) == (3.0, 128, "lm_head")


def test_a_run_without_losses_has_no_rows():
    assert list(loss_rows(Run())) == []
