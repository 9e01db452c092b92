"""What pyproject.toml cannot say: seamalloc-enable.pth goes beside the package; into it the sources of the allocator class, which seamalloc.build compiles,
and libseam_torch.so, if SEAM_LIBRARY names it."""

import os
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

DOORS = Path(__file__).resolve().parents[1]
HEADERS = DOORS.parents[1] / "include" / "seam"


class BuildPy(build_py):
    def run(self) -> None:
        super().run()
        out = Path(self.build_lib)
        self.copy_file("seamalloc-enable.pth", str(out / "seamalloc-enable.pth"))
        self.copy_all(sorted(DOORS.glob("torch_*.cpp")) + sorted(DOORS.glob("torch_*.h")), out / "seamalloc" / "sources")
        self.copy_all(sorted(HEADERS.glob("*.*")), out / "seamalloc" / "sources" / "include" / "seam")
        library = os.environ.get("SEAM_LIBRARY")
        if library:
            self.copy_file(library, str(out / "seamalloc" / "libseam_torch.so"))

    def copy_all(self, files: list[Path], folder: Path) -> None:
        self.mkpath(str(folder))
        for file in files:
            self.copy_file(str(file), str(folder / file.name))


setup(cmdclass={"build_py": BuildPy})
