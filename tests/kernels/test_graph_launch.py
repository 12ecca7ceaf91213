"""Graphs are launched through the driver with the GIL held, or through CuPy where that fails."""

import ctypes
from types import SimpleNamespace

import pytest

from tests.kernels.emulated_device import EmulatedGpu, emulated_cupy
from tests.kernels.emulated_device.gpu import CUDADriverError


@pytest.fixture
def graph_launch():
    with emulated_cupy(EmulatedGpu(executes=False)):
        from engine.cuda import graph_launch

        yield graph_launch


class CupyGraph:
    def __init__(self, handle=None):
        self.launched = []
        if handle is not None:
            self.graphExec = handle

    def launch(self, stream):
        self.launched.append(stream)


def driver_with(monkeypatch, graph_launch, entry):
    """Make `entry` the driver's cuGraphLaunch; returns the loader that was asked."""
    names = []

    def load(name):
        names.append(name)
        return SimpleNamespace(cuGraphLaunch=entry)

    monkeypatch.setattr(graph_launch.ctypes, "PyDLL", load)
    return names


def test_the_driver_gets_both_handles_for_each_launch(graph_launch, monkeypatch):
    # Wider than 32 bits: an int argument without a type would be cut.
    graph, stream = CupyGraph(0x7F12_3456_789A), SimpleNamespace(ptr=0x7F98_7654_3210)
    seen = []

    @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    def entry(graph_handle, stream_handle):
        seen.append((graph_handle, stream_handle))
        return 0

    names = driver_with(monkeypatch, graph_launch, entry)
    graph_launch.launch_graph(graph, stream, 3)
    assert seen == [(graph.graphExec, stream.ptr)] * 3
    assert graph.launched == []
    assert len(names) == 1
    assert "cuda" in names[0]


def test_a_refused_launch_is_raised_and_ends_the_run(graph_launch, monkeypatch):
    calls = []

    @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    def entry(graph_handle, stream_handle):
        calls.append(1)
        return 0 if len(calls) < 2 else 719

    driver_with(monkeypatch, graph_launch, entry)
    with pytest.raises(CUDADriverError, match="719") as caught:
        graph_launch.launch_graph(CupyGraph(1), SimpleNamespace(ptr=2), 5)
    assert caught.value.status == 719
    assert len(calls) == 2


def test_without_the_driver_cupy_launches(graph_launch, monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(graph_launch.ctypes, "PyDLL", missing)
    graph = CupyGraph(1)
    graph_launch.launch_graph(graph, "stream", 2)
    assert graph.launched == ["stream", "stream"]


def test_a_graph_that_tells_no_handle_is_launched_by_cupy(graph_launch, monkeypatch):
    driver_with(monkeypatch, graph_launch, lambda *_: pytest.fail("the driver was called"))
    graph = CupyGraph()
    graph_launch.launch_graph(graph, "stream", 2)
    assert len(graph.launched) == 2
