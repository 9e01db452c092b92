#!/usr/bin/env python3
"""test_operators.py [NAME]: every operator of operators.py on a GPU that is not there, each in a process of its own, so that one that dies is one line.

Through `tests/torch/with_torch --emulated`. NVIDIA's libraries are the package's stubs. With a name: only those that have it in their own.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/doors/python"))
from seamalloc import _ghost, build  # noqa: E402

LIMIT_S = 240


def tensors(made: object) -> Iterator[object]:
    """Those in what an operator has returned."""
    if isinstance(made, torch.Tensor):
        yield made
    elif isinstance(made, (list, tuple)):
        for part in made:
            yield from tensors(part)


def run(operator: Callable[[], object]) -> None:
    """The operator, its backward pass, and an end to its work."""
    faulthandler.enable()
    signal.alarm(LIMIT_S)
    heads = [made for made in tensors(operator()) if made.requires_grad]
    if heads:
        sum(head.float().abs().sum() for head in heads).backward()
    torch.cuda.synchronize()


def result_of(operator: Callable[[], object], place: Path) -> str:
    """What became of the process: "runs", "raises" with the error, or "dies" with the end of what it said."""
    child = os.fork()
    if child == 0:
        said = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        status = 0
        try:
            run(operator)
        except Exception as error:  # noqa: BLE001  # any may come
            os.write(2, f"\n{type(error).__name__}: {error}".replace("\n", " ").encode())
            status = 3
        os._exit(status)
    _, status = os.waitpid(child, 0)
    text = place.read_text(encoding="utf-8", errors="replace").strip()
    if status == 0:
        return "runs"
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 3:
        return f"raises {text.splitlines()[-1][:200]}"
    return f"dies of {signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else status}: {text[:1500]}"


def main() -> int:
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    wrong = 0
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    with tempfile.TemporaryDirectory() as folder:
        for wanted, table in (("runs", operators.OPERATORS), ("raises", operators.REFUSED)):
            for name, operator in table.items():
                if only not in name:
                    continue
                result = result_of(operator, Path(folder) / "said")
                good = result.split()[0] == wanted or (result.split()[0] == "raises" and version < operators.NEWER.get(name, version))
                wrong += not good
                print(f"{'' if good else 'WRONG '}{name}: {result.splitlines()[0] if good else result}", flush=True)
    print(f"{len(operators.OPERATORS)} operators are to run, {len(operators.REFUSED)} to raise; {wrong} did not")
    return 1 if wrong else 0


if __name__ == "__main__":
    os.environ.update(FAKECUDA_MEMORY="book", FAKECUDART_KERNELS="skip")
    with tempfile.TemporaryDirectory() as made:
        driver = next(line.split()[-1] for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines() if line.endswith("/libcuda.so.1"))
        os.environ.update(TRITON_LIBCUDA_PATH=str(Path(driver).parent), TRITON_CACHE_DIR=made, TORCHINDUCTOR_CACHE_DIR=made, TORCHINDUCTOR_COMPILE_THREADS="1")
        os.environ["XDG_CACHE_HOME"] = made
        _ghost.load(_ghost.stubs(build.find_torch())[::-1])
        warnings.simplefilter("ignore")
        import torch

        import operators

        sys.exit(main())
