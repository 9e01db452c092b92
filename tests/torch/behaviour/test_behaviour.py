#!/usr/bin/env python3
"""test_behaviour.py native|class|pluggable [TEST...]: what programs, and PyTorch's own tests, expect of the allocator behind torch.cuda.

Run under each: native is PyTorch's own, which says what the tests are worth. On the emulated device (tests/torch/with_torch --emulated, with
FAKECUDART_KERNELS=skip: copies are real, kernels are not) or on a GPU. Exit status: 0 all passed, 1 one failed, 77 no device.
"""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import torch  # noqa: E402

import device  # noqa: E402
from checkpoints import *  # noqa: E402, F403
from devices import *  # noqa: E402, F403
from differences import *  # noqa: E402, F403
from history import *  # noqa: E402, F403
from memory import *  # noqa: E402, F403
from pinned import *  # noqa: E402, F403
from pools import *  # noqa: E402, F403
from streams import *  # noqa: E402, F403
from table import *  # noqa: E402, F403

if __name__ == "__main__":
    if not torch.cuda.is_available():
        print("skipped: PyTorch sees no GPU")
        raise SystemExit(77)
    device.install()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
