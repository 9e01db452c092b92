"""The build back end of pyproject.toml: meson-python, with wheels for every Python 3.

A wheel of Seam has libraries and no extension module: it is of one platform, and of no Python's ABI, so its tag is py3-none-PLATFORM. meson-python
takes every library in site-packages for an extension module and names the Python that built it.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

import mesonpy
from mesonpy import build_sdist, get_requires_for_build_sdist, get_requires_for_build_wheel

__all__ = ["build_sdist", "build_wheel", "get_requires_for_build_sdist", "get_requires_for_build_wheel"]


def build_wheel(wheel_directory: str, config_settings: dict[str, object] | None = None, metadata_directory: str | None = None) -> str:
    """The hook of PEP 517."""
    made = Path(wheel_directory) / mesonpy.build_wheel(wheel_directory, config_settings, metadata_directory)
    distribution, version, _, _, platform = made.stem.split("-")
    tag = f"py3-none-{platform}"
    name = made.with_name(f"{distribution}-{version}-{tag}.whl")
    if name != made:
        retag(made, name, f"{distribution}-{version}.dist-info", tag)
        made.unlink()
    return name.name


def retag(source: Path, target: Path, info: str, tag: str) -> None:
    """Copies a wheel; in the copy its tag is another, in WHEEL and in what RECORD says of WHEEL."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        lines = old.read(f"{info}/WHEEL").decode().splitlines()
        wheel = "".join(f"{line}\n" for line in [line for line in lines if line and not line.startswith("Tag:")] + [f"Tag: {tag}"]).encode()
        digest = base64.urlsafe_b64encode(hashlib.sha256(wheel).digest()).rstrip(b"=").decode()
        record = old.read(f"{info}/RECORD").decode().splitlines()
        record = [f"{info}/WHEEL,sha256={digest},{len(wheel)}" if line.startswith(f"{info}/WHEEL,") else line for line in record]
        changed = {f"{info}/WHEEL": wheel, f"{info}/RECORD": "".join(f"{line}\n" for line in record).encode()}
        for entry in old.infolist():
            new.writestr(entry, changed.get(entry.filename) or old.read(entry), zipfile.ZIP_DEFLATED)
