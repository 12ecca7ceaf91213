"""NVRTC as CuPy wraps it, for targets of which CuPy knows nothing: a "cubin" holds its source."""

from __future__ import annotations

import json
import re

from tests.kernels.emulated_device.gpu import current_gpu

_MAGIC = b"emulated cubin\n"


class NVRTCError(RuntimeError):
    """As cupy_backends.cuda.libs.nvrtc.NVRTCError."""


class Nvrtc:
    """The module's functions."""

    NVRTCError = NVRTCError

    def __init__(self) -> None:
        self._programs: dict[int, tuple[str, tuple[str, ...]]] = {}

    def getVersion(self) -> tuple[str, int]:
        """Something that no true NVRTC answers: its cubins must not be taken for true ones."""
        return ("emulated", 1)

    def createProgram(
        self, source: str, name: str, headers: tuple[str, ...], include_names: tuple[str, ...]
    ) -> int:
        """A handle."""
        assert not headers
        assert not include_names
        handle = 1 + len(self._programs)
        self._programs[handle] = (source, ())
        return handle

    def compileProgram(self, program: int, options: tuple[str, ...]) -> None:
        """Keep the options; refuse a target that is not this GPU's own."""
        gpu = current_gpu()
        gpu.call("compile")
        target = next(option for option in options if option.startswith("-arch="))
        found = re.fullmatch(r"-arch=sm_(\d+)[af]?", target)
        if found is None or int(found[1]) != gpu.compute_capability:
            raise NVRTCError(f"{target} for compute capability {gpu.compute_capability}")
        self._programs[program] = (self._programs[program][0], options)

    def getProgramLog(self, program: int) -> str:
        """Nothing."""
        return ""

    def getCUBIN(self, program: int) -> bytes:
        """Source and options."""
        return _MAGIC + json.dumps(self._programs[program]).encode()

    def destroyProgram(self, program: int) -> None:
        """Forget it."""
        self._programs[program] = ("", ())


def read_cubin(cubin: bytes) -> tuple[str, tuple[str, ...]]:
    """Source and options of what `getCUBIN` returned."""
    assert cubin.startswith(_MAGIC), "a true cubin on the emulated GPU"
    source, options = json.loads(cubin.removeprefix(_MAGIC))
    return source, tuple(options)
