"""All trainable tokens have the same id: the tokenizer does not know them.

``convert_tokens_to_ids`` gives the id of the unknown token for each. Rows for a token
that stands for anything are trained, and none for those that were meant.

Fix: ``tokenizer.add_tokens(...)`` and resize the embedding before the ids are taken.
Source: seed; peft's ``TrainableTokensLayer`` makes a row for each entry of the list.
"""

from ftlab.faults.builders import Case, Fault, base, lora, plain_case
from ftlab.faults.builders.new_words import rows_trained

UNKNOWN = 5


def build(fixed: bool) -> Case:
    """Train the rows of three tokens, or that of one of them three times."""
    model = base()
    rows = [UNKNOWN, UNKNOWN + 1, UNKNOWN + 2] if fixed else [UNKNOWN] * 3
    model = lora(model, **rows_trained(model, rows))
    return plain_case(model)


FAULT = Fault(
    "new tokens are not learned although their rows are trained",
    code="ADP040",
    places=("config trainable_token_indices",),
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
