"""NVRTC compiles every kernel for every architecture, with the sizes of both real models."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.models.memory_plan import DECODE_SPLITS
from engine.models.model_config import ModelConfig
from tests.kernels.emulated_device import emulated_cupy
from tests.kernels.emulation import QWEN3_0_6B, SMOLLM2_135M, Sizes
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
WITH_CLUSTERS = tuple(arch for arch in ARCHITECTURES if arch >= 90)


def targets(path: Path) -> tuple[int | str, ...]:
    """Files of Hopper's own instructions compile for that one target only."""
    if path.stem.endswith("_hopper"):
        return ("90a",)
    return WITH_CLUSTERS if path.stem.endswith("_cluster") else ARCHITECTURES


PRODUCTS = ("qkv", "o", "gate_up", "down", "lm_head", "joining_gate_up", "joining_down")
# The decode kernels live on their registers: from here on none of them may spill.
NO_SPILLS_FROM = 86
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
        list(pool.map(check, targets(path)))


def compilation(sizes: Sizes, work: str) -> tuple[str, tuple[str, ...]]:
    """File and options as a decode step compiles them."""
    heads = (sizes.NH, sizes.NKV, sizes.HD)
    rest = (sizes.V, sizes.RMS_NORM_EPS, 1e4, 4096, True)
    config = ModelConfig("qwen3", 1, sizes.E, sizes.F, *heads, *rest)
    if work == "attention":
        return "decode_attention", (f"-DATTENTION_SPLITS={DECODE_SPLITS}",)
    with emulated_cupy():
        from engine.cuda.decode_product import decode_products
        from engine.cuda.self_attention import SelfAttention

        if work == "self_attention":
            return "self_attention_cluster", SelfAttention(config, 16, 2).defines
        product = getattr(decode_products(config, {}), work)
        return product.file, product.defines


@needs_nvrtc
@pytest.mark.emulation
@pytest.mark.parametrize("work", [*PRODUCTS, "attention", "self_attention"])
@pytest.mark.parametrize("sizes", [QWEN3_0_6B, SMOLLM2_135M], ids=["qwen3-0.6b", "smollm2-135m"])
def test_decode_kernels_keep_all_in_registers(sizes, work):
    file, defines = compilation(sizes, work)
    path = KERNELS / f"{file}.cu"
    source = inline_includes(path)
    flags = [*sizes.defines(), *defines]

    def check(arch: int | str) -> str:
        (kernel,) = compile_cubin(source, path.name, arch, flags)[1]
        most = 0 if int(arch) >= NO_SPILLS_FROM else MOST_SPILL_BYTES
        assert kernel.spill_bytes <= most, f"sm_{arch} {' '.join(defines)}: {kernel}"
        return f"sm_{arch} {kernel.registers}"

    with ThreadPoolExecutor(2) as pool:
        print(f"registers of {path.stem} {work}:", *pool.map(check, targets(path)), sep="  ")


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
