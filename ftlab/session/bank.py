"""`ftlab.AdapterBank`: requests of several threads to adapters on one live model."""

from typing import Any

from ftlab.laboratory.bank import Bank
from ftlab.session.given_models import model_of
from ftlab.views.adapters.swap import BankView


class AdapterBank(Bank):
    """Adapters on one live model; each request gets the one it asks for, and no other.

    Requests to the same adapter run together. One to another waits until those are
    answered, and then has its own activated; at most 16 later ones pass it by. Loading
    and deleting wait for all. In the place of a name a request may have a key, such as
    a user's: shares say how many of all keys each adapter answers, and a hash of the
    key decides, in every process alike. The model is in evaluation mode, without
    gradients, until `close`, or the ``with`` block's end, puts it back as it was.

    Parameters
    ----------
    model
        A PeftModel, or a model without adapters, or a trainer of one.
    shares
        Numbers by adapter that add up to 1; ``None`` as a name is the base alone.
    salt
        Makes the arms of one experiment independent of those of another.

    Examples
    --------
    >>> import ftlab
    >>> from ftlab.faults.builders.tiny import batches, llama, lora
    >>> with ftlab.AdapterBank(llama(), {"math": 0.9, None: 0.1}) as bank:
    ...     bank.load("math", lora(llama()))
    ...     arms = [bank.route(f"user {number}") for number in range(1000)]
    ...     by_name = bank(batches()[0], adapter="math")
    ...     by_key = bank(batches()[0], key="user 7")
    >>> arms.count("math"), bank.route("user 7") == arms[7]
    (907, True)
    """

    def __init__(self, model: Any, shares: Any = None, *, salt: str = "") -> None:
        super().__init__(model_of(model, "model", "AdapterBank(model)"), shares, salt)
        self.summary = BankView(self.counted)

    def __enter__(self) -> "AdapterBank":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self.summary)
