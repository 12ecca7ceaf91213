"""NVRTC compiles every kernel for every architecture, with the sizes of both real models."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.kernels.emulation import QWEN3_0_6B, SMOLLM2_135M
from tests.kernels.emulation.build import KERNELS, entry_points
from tests.kernels.nvrtc import (
    ARCHITECTURES,
    NvrtcError,
    compile_cubin,
    find_nvrtc,
    inline_includes,
)

FILES = sorted(KERNELS.glob("*.cu"))
HEADER_FIELDS = ["Operation", "Arguments", "Launch", "Assumes", "Numerics", "Source", "Oracle"]
# Files of Hopper's own instructions compile for that one target only.
TARGETS = {path: ("90a",) if path.stem.endswith("_hopper") else ARCHITECTURES for path in FILES}
# More than this and a spill has got out of hand; a few bytes around a branch cost nothing.
MOST_SPILL_BYTES = 64

needs_nvrtc = pytest.mark.skipif(
    find_nvrtc() is None, reason="libnvrtc.so.12 (nvidia-cuda-nvrtc-cu12) is not installed"
)


@needs_nvrtc
@pytest.mark.emulation
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("sizes", [QWEN3_0_6B, SMOLLM2_135M], ids=["qwen3-0.6b", "smollm2-135m"])
def test_compiles_for_every_architecture(path, sizes):
    if path.stem.endswith("_hopper") and sizes.HD != 128:
        pytest.skip("the Hopper kernels are for heads of 128 (engine/cuda/prefill.py)")
    source = inline_includes(path)
    names = sorted(entry_points(path.read_text()))

    def check(arch: int | str) -> None:
        cubin, resources = compile_cubin(source, path.name, arch, sizes.defines())
        assert cubin.startswith(b"\x7fELF")
        assert sorted(kernel.name for kernel in resources) == names
        for kernel in resources:
            assert kernel.spill_bytes <= MOST_SPILL_BYTES, f"sm_{arch}: {kernel}"

    # NVRTC runs outside the GIL.
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(check, TARGETS[path]))


@needs_nvrtc
def test_an_error_in_a_kernel_is_reported_with_the_compilers_words(tmp_path: Path):
    with pytest.raises(NvrtcError, match=r"bad\.cu for sm_80: .*undeclared_name"):
        compile_cubin(
            'extern "C" __global__ void f(int* p) { *p = undeclared_name; }', "bad.cu", 80, []
        )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_kernel_file_opens_with_all_fields_and_names_its_test(path):
    head = path.read_text().split("#include")[0]
    missing = [field for field in HEADER_FIELDS if f"// {field}" not in head]
    assert not missing
    named = head.split("// Oracle")[1].split()[0]
    assert (KERNELS.parent / named).is_file()


@pytest.mark.parametrize("path", [*FILES, KERNELS / "sample_state.cuh"], ids=lambda p: p.name)
def test_ptx_stands_only_in_common(path):
    assert not re.search(r"\basm\b", path.read_text())
