"""Whatever a decode step launches keeps all its values in registers, from 8.6 on.

The list is the one that a load compiles from, so that no kernel is forgotten; products and
attention are looked at in test_compile.py, with the sizes of both models.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.bench.kernel_resources import PREFILL_FILES, compilations
from tests.kernels.nvrtc import ARCHITECTURES, find_nvrtc, why_missing

pytestmark = pytest.mark.skipif(find_nvrtc() is None, reason=why_missing(12))
LOOKED_AT_ELSEWHERE = ("decode_product", "decode_attention", "self_attention_cluster")


def test_the_prefill_files_are_the_only_ones_that_may_spill():
    files = {compilation.file for compilation in compilations()}
    assert set(PREFILL_FILES) <= files
    assert set(LOOKED_AT_ELSEWHERE) <= files


@pytest.mark.emulation
def test_no_other_kernel_of_a_decode_step_spills():
    jobs = [
        (compilation, architecture)
        for compilation in compilations()
        if compilation.file not in (*PREFILL_FILES, *LOOKED_AT_ELSEWHERE)
        for architecture in ARCHITECTURES
        if architecture >= 86
    ]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda job: job[0].resources(job[1]), jobs))
    assert all(found)
    spilling = [
        f"{kernel.name} on {architecture / 10}: {kernel.spill_bytes} bytes"
        for (_, architecture), kernels in zip(jobs, found, strict=True)
        for kernel in kernels
        if kernel.spill_bytes
    ]
    assert spilling == []
