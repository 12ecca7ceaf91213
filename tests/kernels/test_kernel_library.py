"""Compiling kernels: ahead and at once, with progress, and for architectures of their own."""

from __future__ import annotations

import os
import sys
import threading
from types import ModuleType

import pytest

from engine.api import Detail, GenerationControl, SamplingParams
from engine.errors import DeviceLost, KernelCompileError, LoadCancelled
from engine.models.model_files import open_model
from engine.open_engine import open_engine
from tests.engine.models.tiny_model import make_tiny_model
from tests.kernels.emulated_device import EmulatedGpu, emulated_cupy

LAUNCH_FAILURE = 719


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "qwen3")


@pytest.fixture(params=[75, 86, 90])
def gpu(request):
    """A GPU that checks launches and computes nothing."""
    with emulated_cupy(EmulatedGpu(request.param, executes=False)) as gpu:
        yield gpu


@pytest.fixture
def made_libraries(gpu, monkeypatch):
    """The kernel libraries that backends make for themselves."""
    from engine.cuda import cuda_backend

    made = []
    make = cuda_backend.KernelLibrary
    monkeypatch.setattr(
        cuda_backend, "KernelLibrary", lambda *args: made.append(make(*args)) or made[-1]
    )
    return made


def backend_of(tiny, sequences=1):
    from engine.cuda.cuda_backend import CudaBackend

    return CudaBackend(open_model(tiny), 512, sequences)


@pytest.mark.parametrize("sequences", [1, 2])
def test_loading_compiles_all_that_a_reply_needs_and_nothing_else(made_libraries, tiny, sequences):
    from engine.cuda.kernel_list import kernel_sources

    backend = backend_of(tiny, sequences)
    for _ in backend.load(GenerationControl()):
        pass
    (library,) = made_libraries
    for slot, prompt in zip(range(sequences), (200, 9), strict=False):
        backend.set_sampler(slot, SamplingParams(), 1, (), (), Detail.ALTERNATIVES)
        backend.prefill(slot, [1] * prompt, False)
    with backend._on_device(), backend._stream:
        backend._decode.prepare(sequences, backend._stream, few=True)
    used = {source for source, _, _ in library._kernels}
    config, several = open_model(tiny).config, sequences > 1
    expected = kernel_sources(config, backend._attention, several=several)
    assert used == library.sources == set(expected)
    assert ("decode_attention" in {source.file for source in used}) == (
        several or backend._attention is None
    )


def test_kernels_compile_on_several_threads_with_progress_up_to_the_end(gpu, tiny, monkeypatch):
    from engine.cuda.kernel_library import KernelLibrary
    from engine.cuda.kernel_list import kernel_sources
    from engine.cuda.kernel_source import kernel_source
    from tests.kernels.emulated_device.kernel import RawModule

    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    together, threads = threading.Barrier(3), set()
    compile_one = RawModule.compile

    def compile_with_others(module):
        if threading.current_thread() not in threads:
            threads.add(threading.current_thread())
            together.wait(timeout=60)  # breaks, unless three compile at the same time
        compile_one(module)

    monkeypatch.setattr(RawModule, "compile", compile_with_others)
    config = open_model(tiny).config
    with KernelLibrary(config).compiling(kernel_sources(config), 0) as compilation:
        events = list(compilation)
    assert len(threads) == 3
    assert {event.stage for event in events} == {"kernels"}
    total = sum(len(kernel_source(source.file)) for source in kernel_sources(config))
    assert {event.total_bytes for event in events} == {total}
    done = [event.done_bytes for event in events]
    assert done == sorted(done)
    assert done[0] > 0
    assert done[-1] == total
    assert len(set(done)) == len(kernel_sources(config))


def test_kernels_compile_while_the_weights_are_uploaded(gpu, tiny, monkeypatch):
    from tests.kernels.emulated_device.kernel import RawModule

    began = threading.Event()
    compile_one = RawModule.compile

    def noted(module):
        began.set()
        compile_one(module)

    monkeypatch.setattr(RawModule, "compile", noted)
    events = backend_of(tiny).load(GenerationControl())
    assert next(events).stage == "weights"
    assert began.wait(timeout=60)
    events.close()
    assert not any("compiler" in thread.name for thread in threading.enumerate())


def test_what_is_compiled_is_not_compiled_again(gpu, tiny):
    from engine.cuda.kernel_library import KernelLibrary
    from engine.cuda.kernel_list import kernel_sources

    config = open_model(tiny).config
    library = KernelLibrary(config)
    with library.compiling(kernel_sources(config), 0) as compilation:
        list(compilation)
    gpu.fail("compile", LAUNCH_FAILURE)
    with library.compiling(kernel_sources(config), 0) as compilation:
        (event,) = compilation
    assert event.done_bytes == event.total_bytes
    assert library.kernel("swiglu", "swiglu_bf16").name == "swiglu_bf16"


def test_a_file_that_does_not_compile_ahead_is_named_with_the_log(gpu, tiny, monkeypatch):
    from tests.kernels.emulated_device.gpu import CompileException
    from tests.kernels.emulated_device.kernel import RawModule

    def refuse(module):
        if "swiglu_bf16" in module._code:
            raise CompileException("planted")

    monkeypatch.setattr(RawModule, "compile", refuse)
    with pytest.raises(KernelCompileError, match=r"swiglu\.cu.*planted"):
        list(backend_of(tiny).load(GenerationControl()))
    assert gpu.allocated_bytes == 0


def test_a_gpu_lost_on_a_compiling_thread_is_said_so(gpu, tiny):
    gpu.fail("compile", LAUNCH_FAILURE, after=5)
    with pytest.raises(DeviceLost, match="719"):
        list(backend_of(tiny).load(GenerationControl()))


def test_cancel_is_seen_between_kernels(gpu, tiny):
    control = GenerationControl()
    events = backend_of(tiny).load(control)
    while next(events).stage != "kernels":
        pass
    control.cancel()
    with pytest.raises(LoadCancelled):
        next(events)
    assert gpu.allocated_bytes == 0


class ImportWitness:
    """Stands in sys.meta_path and notes the cache folder when the backend is imported."""

    def __init__(self):
        self.seen = []

    def find_spec(self, name, path=None, target=None):
        if name == "engine.cuda.cuda_backend":
            self.seen.append(os.environ["CUPY_CACHE_DIR"])


def test_the_cache_folder_is_set_before_cupy_is_imported(gpu, tiny, tmp_path, monkeypatch):
    witness = ImportWitness()
    monkeypatch.setattr(sys, "meta_path", [witness, *sys.meta_path])
    monkeypatch.setenv("CUPY_CACHE_DIR", "elsewhere")
    open_engine(tiny, "cuda", 128, kernel_cache_dir=tmp_path)
    assert witness.seen == [str(tmp_path)]


# --- architectures with features of their own: NVRTC is called directly


class FakeNvrtc(ModuleType):
    """As cupy_backends.cuda.libs.nvrtc; its machine code is the text itself."""

    class NVRTCError(RuntimeError):
        pass

    def __init__(self):
        super().__init__("nvrtc")
        self.compiled = []
        self.alive = 0
        self.error = None

    def getVersion(self):
        return (12, 9)

    def createProgram(self, text, name, headers, include_names):
        self.alive += 1
        return (text, name)

    def compileProgram(self, program, options):
        if self.error is not None:
            raise self.NVRTCError(self.error)
        self.compiled.append((program[1], options))

    def getCUBIN(self, program):
        return b"\x7fELF" + program[0].encode()

    def getProgramLog(self, program):
        return f"{program[1]}(1): planted log"

    def destroyProgram(self, program):
        self.alive -= 1


@pytest.fixture
def nvrtc(gpu, monkeypatch, tmp_path):
    fake = FakeNvrtc()
    libs = ModuleType("cupy_backends.cuda.libs")
    libs.nvrtc = fake
    for name in ("cupy_backends", "cupy_backends.cuda"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.libs", libs)
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "cache"))
    return fake


def test_an_architecture_of_its_own_is_compiled_once_and_kept(nvrtc, gpu):
    from engine.cuda.kernel_library import cached_cubin

    path = cached_cubin("wide", "code", "90a", ("-DX=1",))
    assert path.read_bytes() == b"\x7fELFcode"
    assert nvrtc.compiled == [("wide.cu", ("-arch=sm_90a", "-ftz=true", "-DX=1"))]
    assert cached_cubin("wide", "code", "90a", ("-DX=1",)) == path
    assert len(nvrtc.compiled) == 1
    assert sorted(path.parent.iterdir()) == [path]
    assert nvrtc.alive == 0


@pytest.mark.parametrize(
    "other", [("code ", "90a", ()), ("code", "100a", ()), ("code", "90a", ("-DX=2",))]
)
def test_whatever_changes_the_machine_code_changes_its_place(nvrtc, gpu, other):
    from engine.cuda.kernel_library import cached_cubin

    assert cached_cubin("wide", "code", "90a", ()) != cached_cubin("wide", *other)


def test_another_compiler_compiles_again(nvrtc, gpu):
    from engine.cuda.kernel_library import cached_cubin

    first = cached_cubin("wide", "code", "90a", ())
    nvrtc.getVersion = lambda: (13, 0)
    assert cached_cubin("wide", "code", "90a", ()) != first


def test_an_error_for_such_an_architecture_keeps_the_log(nvrtc, gpu, tiny):
    from engine.cuda.kernel_library import KernelLibrary

    nvrtc.error = "NVRTC_ERROR_COMPILATION"
    library = KernelLibrary(open_model(tiny).config)
    with pytest.raises(KernelCompileError, match=r"swiglu\.cu.*planted log"):
        library.kernel("swiglu", "swiglu_bf16", architecture="90a")
    assert nvrtc.alive == 0
