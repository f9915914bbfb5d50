"""One message of bitsandbytes is left out, for as long as it was asked for."""

import logging

from ftlab.records.kernel_news import without_kernel_news

NEWS = "Failed to load CPU gemm_4bit_forward from kernels-community: %s. Please"


def test_the_message_is_left_out_and_others_are_not(caplog):
    log = logging.getLogger("bitsandbytes.backends.cpu.ops")
    with without_kernel_news():
        log.warning(NEWS, "No module named 'kernels'")
        log.warning("Failed to load %s", "something else")
    assert caplog.messages == ["Failed to load something else"]
    log.warning(NEWS, "No module named 'kernels'")
    assert len(caplog.messages) == 2
