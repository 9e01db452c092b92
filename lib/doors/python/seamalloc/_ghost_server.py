"""The process that runs on the ghost GPU are forked from, seen from what-if's: it has imported PyTorch, once for all of them (_ghost_run.py is what it does).

It is started for the first run. It ends at close() or with this process, and with it the run that it has and all that this run started.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from . import _ghost, build


class Server:
    """One such process at a time, and one run at a time."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.is_meta = False

    def _start(self, settings: dict[str, Any]) -> None:
        command = [sys.executable, "-m", "seamalloc._ghost_run"]
        self.is_meta = bool(settings["machine"])
        is_ghost = not settings["here"] and not self.is_meta
        libraries = [str(path) for path in _ghost.libraries(build.find_torch())] if is_ghost else []
        environment = _ghost.environment(settings["gpu"], os.environ) if is_ghost else _ghost.allocating_plainly(os.environ)
        if self.is_meta:
            # This machine's own GPU, if it has one, is left alone; compiled regions are what the meta device does not have.
            environment.update(CUDA_VISIBLE_DEVICES="", TORCHDYNAMO_DISABLE="1")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]))
        self.connection, theirs = multiprocessing.Pipe()
        with theirs, open(settings["output"] or os.devnull, "w", encoding="utf-8") as file:
            output = file if settings["output"] else sys.stderr
            end = theirs.fileno()
            self.process = subprocess.Popen(
                [*command, str(end), *libraries], stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, pass_fds=[end], start_new_session=True
            )

    def _receive(self, until: float) -> int:
        if not self.connection.poll(max(0.0, until - time.monotonic())):
            raise TimeoutError
        return int(self.connection.recv_bytes())

    def run(self, settings: dict[str, Any], seconds: float) -> int | None:
        """A run (of what settings, _ghost_run.py says). Its status, as of subprocess; None: it was stopped after so many seconds, and has said where it was."""
        until = time.monotonic() + seconds
        pid = 0
        try:
            if self.is_meta != bool(settings["machine"]):
                self.close()
            if self.process is None:
                self._start(settings)
            self.connection.send_bytes(json.dumps(settings).encode())
            pid = self._receive(until)
            return self._receive(until)
        except TimeoutError:
            if pid:
                os.kill(pid, signal.SIGUSR1)
                self.connection.poll(1)
            self.close()
            return None
        except (EOFError, ConnectionError):  # it is PyTorch's import that ended the process
            assert self.process is not None
            status = self.process.wait()
            self.close()
            return status

    def close(self) -> None:
        """Ends the process."""
        if self.process is None:
            return
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=10)
        self.process.kill()
        self.process.wait()
        self.connection.close()
        self.process = None
