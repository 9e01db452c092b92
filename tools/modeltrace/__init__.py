"""What tools/trace_model.py is made of: models, the recorder of their allocations, and the trace file."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "lib/doors/python"))  # the recorder's part that what-if has too
