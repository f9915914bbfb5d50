"""What builds the models, data and loops of faults.

An entry of the gallery takes from here what most entries need, and from one of the
modules what is of its own subject: conversations, quantised layers, a Trainer.
"""

from ftlab.faults.builders.around import (
    at as at,
    by_epoch as by_epoch,
    every as every,
    loop_with as loop_with,
    updated_by as updated_by,
)
from ftlab.faults.builders.loops import (
    backwards as backwards,
    cast_loss as cast_loss,
    loop_case as loop_case,
    loss_step as loss_step,
    near_base as near_base,
    plain_case as plain_case,
    plain_step as plain_step,
    scaled_step as scaled_step,
)
from ftlab.faults.builders.tiny import (
    VOCABULARY as VOCABULARY,
    Batch as Batch,
    adamw as adamw,
    attention as attention,
    base as base,
    batches as batches,
    feed_forward as feed_forward,
    fused_experts as fused_experts,
    gpt2 as gpt2,
    llama as llama,
    lora as lora,
    lora_config as lora_config,
    micro_batches as micro_batches,
    mixtral as mixtral,
    neox as neox,
    own as own,
    rows_of as rows_of,
    set_seed as set_seed,
    sizes as sizes,
    token_loss as token_loss,
    trainable as trainable,
)
from ftlab.faults.builders.trainers import (
    best_kept as best_kept,
    chosen_by as chosen_by,
    folder as folder,
    resumed as resumed,
    seeded as seeded,
    trained as trained,
)
from ftlab.faults.builders.zoo import (
    classes as classes,
    gemma as gemma,
    mamba as mamba,
    opt as opt,
    phi as phi,
    pictures as pictures,
    qwen3 as qwen3,
    roberta as roberta,
    t5 as t5,
    vit as vit,
)
from ftlab.faults.fault import (
    Case as Case,
    Fault as Fault,
    Healthy as Healthy,
    StepFunction as StepFunction,
)
from ftlab.faults.variation import (
    Variation as Variation,
    current as current,
    varied as varied,
)
