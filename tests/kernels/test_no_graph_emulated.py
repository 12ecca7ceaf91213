"""The decode step without a graph: asked for, or because the GPU refuses to capture it."""

from __future__ import annotations

import logging
import sys

import pytest

import engine.__main__ as command
from engine.api import Detail, GenerationControl, SamplingParams
from engine.errors import DeviceLost
from engine.models.model_files import open_model
from engine.open_engine import open_engine
from tests.engine.models.tiny_model import make_tiny_model
from tests.kernels.emulated_device import EmulatedGpu, emulated_cupy
from tests.kernels.emulated_device.gpu import OUT_OF_MEMORY, CUDADriverError, OutOfMemoryError

pytestmark = pytest.mark.emulation

CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED, LAUNCH_FAILURE = 900, 901, 719
KEEPS_FEW = SamplingParams(temperature=0.9, top_k=20)
KEEPS_ALL = SamplingParams(temperature=1.0, top_k=0, top_p=1.0)
IDS = [5, 80, 17, 200, 3, 41]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "qwen3")


@pytest.fixture
def gpu():
    with emulated_cupy() as gpu:
        yield gpu


@pytest.fixture(scope="module")
def by_graph(tiny):
    """The tokens of both samplings, drawn in graphs."""
    with emulated_cupy() as gpu:
        backend = loaded(tiny)
        tokens = {sampling: reply(backend, sampling) for sampling in (KEEPS_FEW, KEEPS_ALL)}
        assert not backend.graph_refused
        assert gpu.graph_captures == 4
        assert gpu.graph_launches == 4
        backend.close()
        return tokens


def loaded(folder, max_sequences=1, **options):
    from engine.cuda.cuda_backend import CudaBackend

    backend = CudaBackend(open_model(folder), 64 * max_sequences, max_sequences, **options)
    for _ in backend.load(GenerationControl()):
        pass
    return backend


def reply(backend, sampling, slots=(0,)):
    """Ten tokens of each slot, nine of them by one run of decode steps."""
    tokens = {}
    for slot in slots:
        backend.truncate(slot, 0)
        backend.set_sampler(slot, sampling, 3, IDS, (), Detail.NONE)
        tokens[slot] = [backend.prefill(slot, IDS, True)]
    for slot, drawn in backend.decode(slots, 9, frozenset()).items():
        tokens[slot] += drawn
    told = [[token.token_id for token in tokens[slot]] for slot in slots]
    assert all(len(each) == 10 and each == told[0] for each in told)
    return told[0]


def warnings_of(caplog):
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


REFUSALS = [
    ("beginCapture", CAPTURE_UNSUPPORTED, 0),
    ("endCapture", CAPTURE_INVALIDATED, 0),
    ("endCapture", CAPTURE_INVALIDATED, 1),  # the second of two graphs
    ("graphUpload", OUT_OF_MEMORY, 0),
    ("graphUpload", OutOfMemoryError("no room"), 0),
    ("graphUpload", CUDADriverError(OUT_OF_MEMORY), 1),
]


@pytest.mark.parametrize(("operation", "error", "after"), REFUSALS)
def test_a_refused_capture_gives_the_same_tokens_by_single_launches_and_is_said_once(
    gpu, tiny, by_graph, caplog, operation, error, after
):
    gpu.fail(operation, error, after)
    backend = loaded(tiny, max_sequences=2)
    captures = gpu.graph_captures
    assert backend.graph_refused
    assert reply(backend, KEEPS_FEW) == by_graph[KEEPS_FEW]
    # Other numbers of rows and other samplers would each have a graph of their own.
    assert reply(backend, KEEPS_ALL) == by_graph[KEEPS_ALL]
    assert reply(backend, KEEPS_FEW, slots=(0, 1)) == by_graph[KEEPS_FEW]
    assert (gpu.graph_captures, gpu.graph_launches) == (captures, 0)
    (warning,) = warnings_of(caplog)
    assert "answers come a little slower" in warning
    backend.close()
    assert gpu.allocated_bytes == 0


def test_a_kernel_that_cannot_be_captured_leaves_no_capture_open(gpu, tiny, by_graph):
    from engine.cuda.decode_step import DecodeStep

    run, calls = DecodeStep.run, []

    def run_once_only(step, *arguments):
        calls.append(arguments)
        if len(calls) == 2:  # the first of a capture; the eager step was before it
            raise CUDADriverError(CAPTURE_UNSUPPORTED)
        run(step, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DecodeStep, "run", run_once_only)
        backend = loaded(tiny)
        assert backend.graph_refused
        assert not backend._stream.capturing
        assert reply(backend, KEEPS_FEW) == by_graph[KEEPS_FEW]


def test_a_capture_refused_in_the_middle_of_a_chat_drops_all_graphs(gpu, tiny, by_graph, caplog):
    backend = loaded(tiny)
    assert reply(backend, KEEPS_FEW) == by_graph[KEEPS_FEW]
    launches = gpu.graph_launches
    assert launches > 0
    assert not backend.graph_refused
    gpu.fail("endCapture", OUT_OF_MEMORY)
    assert reply(backend, KEEPS_ALL) == by_graph[KEEPS_ALL]
    assert backend.graph_refused
    assert reply(backend, KEEPS_FEW) == by_graph[KEEPS_FEW]
    assert gpu.graph_launches == launches
    assert len(warnings_of(caplog)) == 1


@pytest.mark.parametrize("operation", ["beginCapture", "endCapture", "graphUpload"])
def test_a_gpu_lost_while_a_graph_is_captured_is_said_so(gpu, tiny, caplog, operation):
    gpu.fail(operation, LAUNCH_FAILURE)
    with pytest.raises(DeviceLost, match="719"):
        loaded(tiny)
    assert warnings_of(caplog) == []


def test_without_a_graph_nothing_is_ever_captured_and_nothing_is_said(gpu, tiny, by_graph, caplog):
    engine = open_engine(tiny, "cuda", 64, use_graph=False)
    for _ in engine.load(GenerationControl()):
        pass
    assert not engine.info().graph_refused
    engine.close()
    backend = loaded(tiny, use_graph=False)
    for sampling, tokens in by_graph.items():
        assert reply(backend, sampling) == tokens
    assert (gpu.graph_captures, gpu.graph_launches) == (0, 0)
    assert warnings_of(caplog) == []


def test_a_loaded_engine_tells_that_its_graph_was_refused(tiny):
    with emulated_cupy(EmulatedGpu(executes=False)) as gpu:
        gpu.fail("beginCapture", CAPTURE_UNSUPPORTED)
        engine = open_engine(tiny, "cuda", 64)
        assert not engine.info().graph_refused
        for _ in engine.load(GenerationControl()):
            pass
        assert engine.info().graph_refused


def chat(monkeypatch, capsys, folder, *arguments):
    """Exit code, stdout and stderr of a chat in the terminal."""
    # As outside of pytest, where nobody has asked for the log yet.
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    questions = ("-i", "hello", "-i", "again", "--max-new-tokens", "6", "-s", "1")
    words = ["engine", "chat", str(folder), *questions, "--context", "256", *arguments]
    monkeypatch.setattr(sys, "argv", words)
    code = command.main()
    output = capsys.readouterr()
    return code, output.out, output.err


def test_the_terminal_says_once_that_the_graph_was_refused(gpu, tiny, monkeypatch, capsys):
    _, by_graph, err = chat(monkeypatch, capsys, tiny)
    assert "note: " not in err
    gpu.fail("endCapture", CAPTURE_INVALIDATED)
    code, out, err = chat(monkeypatch, capsys, tiny)
    assert (code, out) == (0, by_graph)
    (line,) = [line for line in err.splitlines() if "graph" in line]
    assert line == (
        "note: the GPU cannot replay its work as a graph here (cudaError 901); "
        "answers come a little slower"
    )


def test_no_graph_on_the_command_line_captures_nothing(gpu, tiny, monkeypatch, capsys):
    _, by_graph, _ = chat(monkeypatch, capsys, tiny)
    captures = gpu.graph_captures
    assert captures > 0
    code, out, err = chat(monkeypatch, capsys, tiny, "--no-graph")
    assert (code, out) == (0, by_graph)
    assert "note: " not in err
    assert gpu.graph_captures == captures


def test_no_graph_on_the_cpu_is_said_to_change_nothing(tiny, monkeypatch, capsys):
    code, out, err = chat(monkeypatch, capsys, tiny, "--device", "cpu", "--no-graph")
    assert code == 0
    assert out
    assert err.splitlines()[0] == "note: --no-graph changes nothing on the CPU"
