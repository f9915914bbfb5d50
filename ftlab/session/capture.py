"""`ftlab.capture`: an execution in a folder, to be compared elsewhere."""

from pathlib import Path
from typing import Any

from ftlab.executions.captures import write_capture
from ftlab.executions.pairs import side
from ftlab.session.given_models import batch_of, model_of


def capture(
    model: Any, batch: Any, folder: str | Path, *, statistics: bool = False
) -> Path:
    """Write what every module of a model makes of a batch into a folder.

    `ftlab.diff` compares a model with it, on another machine or device, or with other
    versions: ``ftlab.diff("folder", model)``. The folder holds JSON and safetensors:
    the batch, all activations, gradients where the batch has labels, what rounding
    moves each of them, and a digest of each weight. It is about as large as the
    activations of a step, twice.

    Parameters
    ----------
    model
        A model, or a trainer that has one.
    batch
        Keyword arguments of the model.
    folder
        Where to write; must not exist, or be empty.
    statistics
        For big models: write sixteen sums of each token's values in place of all. Each
        side then goes its own way: told is where the two first part, without its
        operation.

    Returns
    -------
    pathlib.Path
        The folder.

    Raises
    ------
    BadValueError
        Something else was passed, or the folder is not empty.

    Examples
    --------
    >>> import tempfile, torch, ftlab
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     there = ftlab.capture(model, {"input": torch.ones(1, 2)}, folder)
    ...     ftlab.diff(there, model).equal
    True
    """
    there = Path(folder)
    write_capture(
        side(
            model_of(model, "model", "capture(model, batch, folder)"), batch_of(batch)
        ),
        there,
        statistics=statistics,
    )
    return there
