"""What engine/cuda and open_engine do when the GPU, the driver, memory or CuPy fail."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from engine.api import Detail, GenerationControl, LoadProgress, SamplingParams
from engine.errors import (
    DeviceLost,
    DriverTooOld,
    GpuFault,
    KernelCompileError,
    LoadCancelled,
    ModelFileMissing,
    NoCudaDevice,
    NotEnoughMemory,
    UnsupportedModel,
)
from engine.models.model_files import open_model
from engine.open_engine import cuda_is_usable, describe_memory, open_engine
from tests.engine.models.tiny_model import make_tiny_model
from tests.kernels.emulated_device import EmulatedGpu, emulated_cupy
from tests.kernels.emulated_device.cublas import Cublas
from tests.kernels.emulated_device.gpu import OUT_OF_MEMORY, CUDADriverError, OutOfMemoryError

INSUFFICIENT_DRIVER, NO_DEVICE, LAUNCH_FAILURE = 35, 100, 719


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "qwen3")


@pytest.fixture
def gpu():
    """A GPU that checks launches and computes nothing."""
    with emulated_cupy(EmulatedGpu(executes=False)) as gpu:
        yield gpu


def backend_of(tiny, *args, **options):
    from engine.cuda.cuda_backend import CudaBackend

    return CudaBackend(open_model(tiny), 128, *args, **options)


def load(backend):
    return list(backend.load(GenerationControl()))


def test_loading_tells_every_byte_of_the_weights_and_holds_the_planned_memory(gpu, tiny):
    backend = backend_of(tiny)
    events = load(backend)
    assert gpu.allocated_bytes == backend.memory().total_bytes
    weights = [event for event in events if event.stage == "weights"]
    done = [event.done_bytes for event in weights]
    assert done == sorted(done)
    assert (
        done[-1] == weights[-1].total_bytes == 2 * sum(tensor.size for tensor in _tensors(backend))
    )
    assert events[-1].stage == "kernels"
    assert (backend.on_gpu, backend.device_name) == (True, "Emulated GPU")
    assert (backend.capacity_tokens, backend.max_sequences) == (128, 1)
    backend.close()
    assert gpu.allocated_bytes == 0


def _tensors(backend):
    files = backend._files
    return [files.tensor(name) for name in files.tensor_names]


def test_too_little_free_memory_is_refused_with_both_numbers(gpu, tiny):
    backend = backend_of(tiny)
    gpu.used_by_others = gpu.total_bytes - backend.memory().total_bytes + 1
    with pytest.raises(NotEnoughMemory) as caught:
        load(backend)
    assert caught.value.needed_bytes == backend.memory().total_bytes
    assert caught.value.free_bytes == caught.value.needed_bytes - 1
    assert caught.value.device == "Emulated GPU"
    gpu.used_by_others -= 1
    assert isinstance(load(backend)[0], LoadProgress)


@pytest.mark.parametrize(
    "error", [OUT_OF_MEMORY, OutOfMemoryError(), CUDADriverError(OUT_OF_MEMORY)], ids=repr
)
@pytest.mark.parametrize("operation", ["malloc", "hostAlloc", "launch"])
def test_running_out_of_memory_while_loading_can_be_tried_again(gpu, tiny, operation, error):
    backend = backend_of(tiny)
    gpu.fail(operation, error)
    # `caught` keeps the error and all frames of its traceback, as a window that shows it does.
    with pytest.raises(NotEnoughMemory) as caught:
        load(backend)
    assert caught.value.device == "Emulated GPU"
    assert gpu.allocated_bytes == 0
    load(backend)
    assert gpu.allocated_bytes == backend.memory().total_bytes


def test_running_out_of_memory_is_told_even_if_free_memory_cannot_be_read(gpu, tiny):
    backend = backend_of(tiny)
    gpu.fail("malloc", OUT_OF_MEMORY)
    gpu.fail("memGetInfo", CUDADriverError(1), after=1)
    with pytest.raises(NotEnoughMemory) as caught:
        load(backend)
    assert caught.value.free_bytes == 0


def test_cancelled_loading_frees_everything(gpu, tiny):
    control = GenerationControl()
    loading = backend_of(tiny).load(control)
    next(loading)
    assert gpu.allocated_bytes > 0
    control.cancel()
    with pytest.raises(LoadCancelled):
        next(loading)
    assert gpu.allocated_bytes == 0


def test_loading_that_nobody_goes_on_with_frees_everything(gpu, tiny):
    loading = backend_of(tiny).load(GenerationControl())
    next(loading)
    loading.close()
    assert gpu.allocated_bytes == 0


@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize("operation", ["malloc", "memcpy", "synchronize", "launch", "compile"])
def test_a_gpu_lost_while_loading_is_said_so_and_nothing_is_held(gpu, tiny, operation, after):
    gpu.fail(operation, LAUNCH_FAILURE, after=0 if operation == "malloc" else after)
    backend = backend_of(tiny)
    with pytest.raises(DeviceLost, match="719"):
        load(backend)
    assert gpu.allocated_bytes == 0


def test_a_backend_loads_again_after_close_with_empty_slots(gpu, tiny):
    backend = backend_of(tiny)
    load(backend)
    backend.prefill(0, [1, 2, 3], False)
    assert backend.length(0) == 3
    backend.close()
    backend.close()
    load(backend)
    assert backend.length(0) == 0


def test_decoding_without_steps_or_without_a_pending_token_does_nothing(gpu, tiny):
    backend = backend_of(tiny)
    load(backend)
    launches = len(gpu.launches)
    assert backend.decode([0], 4, frozenset()) == {0: []}
    backend._pending[0] = 5
    assert backend.decode([0], 0, frozenset()) == {0: []}
    assert len(gpu.launches) == launches


def test_more_stop_tokens_than_the_device_keeps_are_refused(gpu, tiny):
    backend = backend_of(tiny)
    load(backend)
    backend.set_sampler(0, SamplingParams(), 0, [1], [], Detail.NONE)
    backend._pending[0] = 5
    with pytest.raises(UnsupportedModel, match="stop tokens 9"):
        backend.decode([0], 1, frozenset(range(9)))


def test_missing_nvrtc_is_a_typed_error(gpu, tiny):
    gpu.has_nvrtc = False
    with pytest.raises(KernelCompileError, match="libnvrtc"):
        load(backend_of(tiny))
    assert gpu.allocated_bytes == 0


def test_missing_kernel_files_are_a_typed_error(gpu, tiny, monkeypatch, tmp_path):
    from engine.cuda import kernel_source

    # A frozen build keeps its files in this folder.
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    assert kernel_source.kernels_dir() == tmp_path / "kernels"
    with pytest.raises(ModelFileMissing, match="kernels"):
        load(backend_of(tiny))
    assert gpu.allocated_bytes == 0


def test_a_region_is_never_taken_for_more_than_it_holds(gpu, tiny):
    backend = backend_of(tiny)
    load(backend)
    with pytest.raises(ValueError, match=r"region workspace\.q has .* needs"):
        backend._block.array("workspace.q", (10_000, 4, 32), np.uint16)


@pytest.mark.parametrize("fault", [None, LAUNCH_FAILURE])
def test_cublas_is_only_taken_where_it_is_faster(tiny, monkeypatch, fault):
    cublas = Cublas()
    with emulated_cupy(EmulatedGpu(executes=False, cublas=cublas)) as gpu:
        import cupy

        elapsed = lambda *_: 2.0 if cublas.calls else 1.0  # noqa: E731
        monkeypatch.setattr(cupy.cuda, "get_elapsed_time", elapsed)
        backend = backend_of(tiny)
        if fault is None:
            load(backend)
            assert cublas.calls > 0
            assert backend._forward.prefill_product == backend._forward._ops.gemm
        else:
            gpu.fail("gemm", fault)
            with pytest.raises(DeviceLost):
                load(backend)


def test_kernels_are_cached_where_the_caller_says(gpu, tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("CUPY_CACHE_DIR", "elsewhere")
    load(backend_of(tiny, kernel_cache_dir=tmp_path))
    assert os.environ["CUPY_CACHE_DIR"] == str(tmp_path)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"head_dim": 16}, "head_dim 16"),
        ({"head_dim": 144}, "head_dim 144"),
        ({"num_attention_heads": 16, "num_key_value_heads": 1}, "query heads per kv head 16"),
        ({"num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 160}, "per kv head 8"),
        ({"intermediate_size": 100}, "intermediate_size 100"),
    ],
)
def test_sizes_that_the_kernels_lack_are_refused_by_name(gpu, tmp_path, sizes, message):
    folder = make_tiny_model(tmp_path / "odd", **sizes)
    with pytest.raises(UnsupportedModel, match=message):
        backend_of(folder)
    # "auto" takes the CPU instead.
    assert not open_engine(folder, "auto", 64).info().on_gpu
    with pytest.raises(UnsupportedModel):
        open_engine(folder, "cuda", 64)


OLD_GPU = {"compute_capability": 61}
UNUSABLE = [
    ({"driver_version": 0}, {}, GpuFault.NO_DRIVER, "no NVIDIA driver"),
    ({"driver_version": 11080}, {}, None, "CUDA 11.8 found, CUDA 12.0"),
    ({"device_count": 0}, {}, GpuFault.NOT_THERE, "0 found"),
    (OLD_GPU, {}, GpuFault.TOO_OLD, "compute capability 6.1, 7.5 or newer"),
    ({}, {"driverGetVersion": INSUFFICIENT_DRIVER}, GpuFault.REFUSED, "35"),
    ({}, {"driverGetVersion": RuntimeError("libcudart.so.12")}, GpuFault.REFUSED, "libcudart"),
    ({}, {"getDeviceCount": NO_DEVICE}, GpuFault.NOT_THERE, "100"),
    ({}, {"getDeviceProperties": LAUNCH_FAILURE}, GpuFault.REFUSED, "719"),
]


@pytest.mark.parametrize(("facts", "faults", "fault", "message"), UNUSABLE)
def test_without_a_usable_gpu_auto_takes_the_cpu_and_cuda_says_why(
    tiny, facts, faults, fault, message
):
    def unusable():
        gpu = EmulatedGpu(executes=False, **facts)
        for operation, failure in faults.items():
            gpu.fail(operation, failure)
        return emulated_cupy(gpu)

    error = DriverTooOld if fault is None else NoCudaDevice
    with unusable(), pytest.raises(error, match=message) as refused:
        open_engine(tiny, "cuda", 64)
    assert getattr(refused.value, "fault", None) is fault
    with unusable():
        assert not open_engine(tiny, "auto", 64).info().on_gpu
    with unusable():
        assert not cuda_is_usable()


def test_a_usable_gpu_is_taken_and_its_memory_described(gpu, tiny):
    engine = open_engine(tiny, "auto", 64)
    assert engine.info().on_gpu
    assert describe_memory(tiny, 64, "auto") == describe_memory(tiny, 64, "cuda")
    assert engine.info().memory == describe_memory(tiny, 64, "cuda")


@pytest.fixture
def no_cupy(monkeypatch):
    """`import cupy` fails, whether it is installed or not."""
    for name in [name for name in sys.modules if name.startswith("engine.cuda")]:
        monkeypatch.delitem(sys.modules, name)
    # None is how Python spells "this module cannot be imported".
    monkeypatch.setitem(sys.modules, "cupy", None)


def test_without_cupy_auto_takes_the_cpu_and_cuda_says_what_is_missing(no_cupy, tiny):
    assert not cuda_is_usable()
    assert not open_engine(tiny, "auto", 64).info().on_gpu
    with pytest.raises(NoCudaDevice, match="cupy is not installed") as refused:
        open_engine(tiny, "cuda", 64)
    assert refused.value.fault is GpuFault.NOT_INSTALLED
    assert describe_memory(tiny, 64, "auto") == describe_memory(tiny, 64, "cpu")


def test_a_cupy_that_cannot_load_its_libraries_is_told_from_a_missing_one(no_cupy, tiny, tmp_path):
    (tmp_path / "cupy.py").write_text('raise ImportError("libcuda.so.1: cannot open")')
    del sys.modules["cupy"]
    sys.path.insert(0, str(tmp_path))
    try:
        with pytest.raises(NoCudaDevice, match=r"CuPy does not start: libcuda\.so\.1") as refused:
            open_engine(tiny, "cuda", 64)
        assert refused.value.fault is GpuFault.NOT_STARTING
        assert not open_engine(tiny, "auto", 64).info().on_gpu
    finally:
        sys.path.remove(str(tmp_path))


def test_nothing_of_the_fake_is_left_behind(tiny):
    import engine

    before = {name: module for name, module in sys.modules.items() if "cu" in name}
    attribute = getattr(engine, "cuda", None)
    with emulated_cupy(EmulatedGpu(executes=False)):
        load(backend_of(tiny))
        assert "cupy" in sys.modules
    assert {name: module for name, module in sys.modules.items() if "cu" in name} == before
    assert getattr(engine, "cuda", None) is attribute
