"""What the compiler says each kernel takes: registers and spilled bytes, by architecture.

`python -m tests.bench.kernel_resources` prints it as a table; needs NVRTC, no GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from engine.bench.random_model import DEFAULT_SHAPE, shape_config
from engine.models.model_config import ModelConfig
from tests.kernels.emulated_device import emulated_cupy
from tests.kernels.nvrtc import KernelResources, compile_cubin

PREFILL_FILES = ("gemm", "attention_prefill", "gemm_hopper", "attention_prefill_hopper")
"""Their tiles are chosen to fill the registers; all others run in every decode step."""

TABLE_ARCHITECTURES = (86, 89, 90, 120)


def compilations() -> list[tuple[str, str, tuple[str, ...], str]]:
    """Label, file, options and architecture ("" is any) of all that a load compiles for Qwen3."""
    config = ModelConfig.from_dict(shape_config(DEFAULT_SHAPE), DEFAULT_SHAPE)
    with emulated_cupy():
        from engine.cuda.hopper_prefill import hopper_kernel_sources
        from engine.cuda.kernel_list import kernel_sources
        from engine.cuda.kernel_source import dimension_options

        sources = [*kernel_sources(config), *hopper_kernel_sources()]
        sizes = dimension_options(config)
    return [
        (
            *(_label(source.file, source.defines), source.file),
            *((*sizes, *source.defines), source.architecture),
        )
        for source in sources
    ]


def _label(file: str, defines: Sequence[str]) -> str:
    told = [define.removeprefix("-D") for define in defines if define.startswith("-DPRODUCT_")]
    shape = {name: value for name, _, value in (text.partition("=") for text in told)}
    if not shape:
        return file
    return f"{file} {shape['PRODUCT_K']} to {shape['PRODUCT_N']}"


def resources(file: str, options: Sequence[str], architecture: int | str) -> list[KernelResources]:
    """What the compiler says of each kernel of a file."""
    with emulated_cupy():
        from engine.cuda.kernel_source import kernel_source

        text = kernel_source(file)
    return compile_cubin(text, f"{file}.cu", architecture, list(options))[1]


def rows() -> Iterator[str]:
    """Lines of the table: registers, and spilled bytes where there are any."""
    found: dict[tuple[str, str], dict[int, str]] = {}
    jobs = [
        (label, file, options, arch)
        for label, file, options, own in compilations()
        for arch in ([own] if own else TABLE_ARCHITECTURES)
    ]
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda job: resources(job[1], job[2], job[3]), jobs)
        for (label, _, _, arch), kernels in zip(jobs, results, strict=True):
            column = 90 if arch == "90a" else int(arch)
            for kernel in kernels:
                spilled = f", {kernel.spill_bytes} B spilled" if kernel.spill_bytes else ""
                text = f"{kernel.registers}{spilled}"
                found.setdefault((label, kernel.name), {})[column] = text
    yield "| file | kernel | " + " | ".join(f"{a / 10}" for a in TABLE_ARCHITECTURES) + " |"
    yield "| --- | --- |" + " --- |" * len(TABLE_ARCHITECTURES)
    for (label, name), texts in found.items():
        cells = " | ".join(texts.get(a, "-") for a in TABLE_ARCHITECTURES)
        yield f"| {label} | {name} | {cells} |"


if __name__ == "__main__":
    print("\n".join(rows()))
