"""NVRTC compiles every kernel for every architecture, with the sizes of both real models.

CuPy for CUDA 13 brings NVRTC 13, which refuses some of what NVRTC 12 lets pass: it must compile
what the engine compiles, too.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.models.memory_plan import DECODE_SPLITS
from engine.models.model_config import ModelConfig
from tests.bench.kernel_resources import Compilation, compilations
from tests.kernels.emulated_device import emulated_cupy
from tests.kernels.emulation import QWEN3_0_6B, SMOLLM2_135M, Sizes
from tests.kernels.emulation.build import KERNELS, entry_points
from tests.kernels.nvrtc import (
    ARCHITECTURES,
    NvrtcError,
    compile_cubin,
    find_nvrtc,
    inline_includes,
    why_missing,
)

FILES = sorted(KERNELS.glob("*.cu"))
HEADER_FIELDS = ["Operation", "Arguments", "Launch", "Assumes", "Numerics", "Source", "Oracle"]
WITH_CLUSTERS = tuple(arch for arch in ARCHITECTURES if arch >= 90)


def targets(path: Path) -> tuple[int | str, ...]:
    """Files of Hopper's own instructions compile for that one target only."""
    if path.stem.endswith("_hopper"):
        return ("90a",)
    return WITH_CLUSTERS if path.stem.endswith("_cluster") else ARCHITECTURES


PRODUCTS = (
    "qkv",
    "o",
    "gate_up",
    "down",
    "lm_head",
    "o beside clusters",
    "gate_up beside clusters",
)
# The decode kernels live on their registers: from here on none of them may spill.
NO_SPILLS_FROM = 86
# More than this and a spill has got out of hand; a few bytes around a branch cost nothing.
MOST_SPILL_BYTES = 64

needs_nvrtc = pytest.mark.skipif(find_nvrtc() is None, reason=why_missing(12))
needs_nvrtc_13 = pytest.mark.skipif(find_nvrtc(13) is None, reason=why_missing(13))
# One for each path that the kernels choose by their architecture, but for what 80 has in 90 too.
NVRTC_13_TARGETS = (75, 90, "90a", 100)
# NVRTC 13 looks into a branch that is never taken, though it stands in a template.
REFUSED_BY_13 = """
struct Half { short bits; };
template <int N> __device__ float first(const Half* x) {
    float value = 0.0f;
    if constexpr (1 == 2) { value = *x; }
    return value;
}
template <int N> __device__ float caller(const Half* x) { return first<N>(x); }
extern "C" __global__ void planted(float* out, const Half* x) { *out = caller<1>(x); }
"""


@needs_nvrtc
@pytest.mark.emulation
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("sizes", [QWEN3_0_6B, SMOLLM2_135M], ids=["qwen3-0.6b", "smollm2-135m"])
def test_compiles_for_every_architecture(path, sizes):
    if path.stem.endswith("_hopper") and sizes.HD != 128:
        pytest.skip("the Hopper kernels are for heads of 128 (engine/cuda/hopper_prefill.py)")
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


def model_config(sizes: Sizes) -> ModelConfig:
    heads = (sizes.NH, sizes.NKV, sizes.HD)
    rest = (sizes.V, sizes.RMS_NORM_EPS, 1e4, 4096, True)
    family = "qwen3" if sizes.QK_NORM else "llama"
    return ModelConfig(family, 1, sizes.E, sizes.F, *heads, *rest)


def compilation(sizes: Sizes, work: str) -> tuple[str, tuple[str, ...]]:
    """File and options as a decode step compiles them."""
    config = model_config(sizes)
    if work == "attention":
        return "decode_attention", (f"-DATTENTION_SPLITS={DECODE_SPLITS}",)
    with emulated_cupy():
        from engine.cuda.decode_product import decode_products
        from engine.cuda.self_attention import SelfAttention

        if work == "self_attention":
            return "self_attention_cluster", SelfAttention(config).defines
        name, _, beside = work.partition(" beside ")
        products = decode_products(config, {}, beside_clusters=bool(beside))
        return "decode_product", getattr(products, name).defines


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


def engine_compilations(sizes: Sizes) -> list[Compilation]:
    """Whatever the engine compiles for a model: a load with launches in clusters, and the bench."""
    source = inline_includes(KERNELS / "read_limit.cu")
    bench = Compilation("read_limit", "read_limit", source, tuple(sizes.defines()), "")
    found = [*compilations(model_config(sizes)), bench]
    return [each for each in found if sizes.HD == 128 or not each.file.endswith("_hopper")]


@pytest.mark.parametrize("sizes", [QWEN3_0_6B, SMOLLM2_135M], ids=["qwen3-0.6b", "smollm2-135m"])
def test_the_engine_compiles_every_file(sizes):
    files = {path.stem for path in FILES if sizes.HD == 128 or not path.stem.endswith("_hopper")}
    assert {each.file for each in engine_compilations(sizes)} == files


@needs_nvrtc_13
@pytest.mark.emulation
@pytest.mark.parametrize("sizes", [QWEN3_0_6B, SMOLLM2_135M], ids=["qwen3-0.6b", "smollm2-135m"])
def test_nvrtc_13_compiles_what_the_engine_does(sizes):
    jobs = [
        (each, arch)
        for each in engine_compilations(sizes)
        for arch in targets(KERNELS / f"{each.file}.cu")
        if arch in NVRTC_13_TARGETS
    ]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda job: job[0].resources(job[1], major=13), jobs))
    assert all(found)


@needs_nvrtc
@needs_nvrtc_13
@pytest.mark.emulation
def test_nvrtc_13_refuses_what_12_lets_pass():
    cubin, _ = compile_cubin(REFUSED_BY_13, "planted.cu", 90, [])
    assert cubin.startswith(b"\x7fELF")
    with pytest.raises(NvrtcError, match=r"planted\.cu for sm_90: .*no suitable conversion"):
        compile_cubin(REFUSED_BY_13, "planted.cu", 90, [], major=13)


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


def test_ptx_stands_only_in_the_files_of_wrappers():
    files = [*FILES, *KERNELS.glob("*.cuh")]
    with_ptx = {path.name for path in files if re.search(r"\basm\b", path.read_text())}
    assert with_ptx == {"common.cuh", "cluster.cuh", "wgmma.cuh"}
