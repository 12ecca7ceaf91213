"""What the compiler says each kernel takes: registers and spilled bytes, by architecture.

`python -m tests.bench.kernel_resources` prints it as a table; needs NVRTC, no GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from engine.bench.random_model import DEFAULT_SHAPE, shape_config
from engine.models.model_config import ModelConfig
from tests.kernels.emulated_device import emulated_cupy
from tests.kernels.nvrtc import KernelResources, compile_cubin

PREFILL_FILES = ("gemm", "attention_prefill", "gemm_hopper", "attention_prefill_hopper")
"""Their tiles are chosen to fill the registers; all others run in every decode step."""

TABLE_ARCHITECTURES = (86, 89, 90, 120)


@dataclass(frozen=True)
class Compilation:
    """One file as a load compiles it for Qwen3; `architecture` is "" where any will do."""

    label: str
    file: str
    text: str
    options: tuple[str, ...]
    architecture: str

    def resources(self, architecture: int | str, major: int = 12) -> list[KernelResources]:
        """What the compiler (NVRTC `major`) says of each kernel; on any thread."""
        name = f"{self.file}.cu"
        return compile_cubin(self.text, name, architecture, self.options, major)[1]


def compilations(config: ModelConfig | None = None) -> list[Compilation]:
    """All that a load compiles on any GPU, with and without clusters, the files of Hopper's own
    instructions too; by default Qwen3's.
    """
    config = config or ModelConfig.from_dict(shape_config(DEFAULT_SHAPE), DEFAULT_SHAPE)
    with emulated_cupy():
        from engine.cuda.hopper_prefill import hopper_kernel_sources
        from engine.cuda.kernel_list import kernel_sources
        from engine.cuda.kernel_source import dimension_options, kernel_source
        from engine.cuda.self_attention import SelfAttention

        sizes = dimension_options(config)
        plain = kernel_sources(config)
        beside = [s for s in kernel_sources(config, SelfAttention(config)) if s not in plain]
        return [
            Compilation(
                _label(source.file, source.defines, beside_clusters=source in beside),
                source.file,
                kernel_source(source.file),
                (*sizes, *source.defines),
                source.architecture,
            )
            for source in [*plain, *beside, *hopper_kernel_sources()]
        ]


def _label(file: str, defines: Sequence[str], *, beside_clusters: bool) -> str:
    told = [define.removeprefix("-D") for define in defines if define.startswith("-DPRODUCT_")]
    shape = {name: value for name, _, value in (text.partition("=") for text in told)}
    if not shape:
        return file
    where = ", beside clusters" if beside_clusters else ""
    return f"{file} {shape['PRODUCT_K']} to {shape['PRODUCT_N']}{where}"


def table_architectures(compilation: Compilation) -> tuple[int | str, ...]:
    """Architectures of the table that a file can be compiled for."""
    if compilation.architecture:
        return (compilation.architecture,)
    least = 90 if compilation.file.endswith("_cluster") else 0
    return tuple(architecture for architecture in TABLE_ARCHITECTURES if architecture >= least)


def rows() -> Iterator[str]:
    """Lines of the table: registers, and spilled bytes where there are any."""
    found: dict[tuple[str, str], dict[int, str]] = {}
    jobs: list[tuple[Compilation, int | str]] = [
        (compilation, architecture)
        for compilation in compilations()
        for architecture in table_architectures(compilation)
    ]
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda job: job[0].resources(job[1]), jobs)
        for (compilation, architecture), kernels in zip(jobs, results, strict=True):
            column = 90 if architecture == "90a" else int(architecture)
            for kernel in kernels:
                spilled = f", {kernel.spill_bytes} B spilled" if kernel.spill_bytes else ""
                cells = found.setdefault((compilation.label, kernel.name), {})
                cells[column] = f"{kernel.registers}{spilled}"
    yield "| file | kernel | " + " | ".join(f"{a / 10}" for a in TABLE_ARCHITECTURES) + " |"
    yield "| --- | --- |" + " --- |" * len(TABLE_ARCHITECTURES)
    for (label, name), texts in found.items():
        cells_text = " | ".join(texts.get(a, "-") for a in TABLE_ARCHITECTURES)
        yield f"| {label} | {name} | {cells_text} |"


if __name__ == "__main__":
    print("\n".join(rows()))
