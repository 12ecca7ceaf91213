"""Weights arrive on the device as the file has them, however the buffers take turns.

The emulated stream reads pinned memory as late as CUDA allows: a buffer that is filled again before
its copy is done shows as wrong weights.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

from engine.api import GenerationControl
from engine.errors import BadModelFile, LoadCancelled
from engine.models.host_tensor import to_bf16_rows
from engine.models.memory_plan import plan_regions
from engine.models.model_files import open_model
from engine.models.weights import weight_blocks
from tests.engine.models.tiny_model import make_tiny_model
from tests.kernels.emulated_device import emulated_cupy


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "qwen3")


class Upload:
    """An upload with small buffers, so that every matrix takes many turns."""

    def __init__(self, folder, staging_bytes, monkeypatch):
        from engine.cuda import weight_upload
        from engine.cuda.device import find_device
        from engine.cuda.memory_block import MemoryBlock
        from tests.kernels.emulated_device.stream import Stream

        monkeypatch.setattr(weight_upload, "STAGING_BYTES", staging_bytes)
        self.module = weight_upload
        self.files = open_model(folder)
        self.block = MemoryBlock(find_device(), plan_regions(self.files.config, 64))
        self.stream = Stream()
        self.control = GenerationControl()

    def events(self):
        return self.module.upload_weights(self.files, self.block, self.stream, self.control)

    def on_device(self, weight):
        return self.block.array(weight.name, weight.shape, np.uint16).view

    def in_file(self, weight):
        parts = [to_bf16_rows(self.files.tensor(part.name)) for part in weight.parts]
        return np.concatenate(parts)


@pytest.fixture(params=[256, 4096, 1 << 20])
def upload(tiny, request, monkeypatch):
    with emulated_cupy():
        yield Upload(tiny, request.param, monkeypatch)


def test_every_weight_arrives_as_the_file_has_it(upload):
    events = list(upload.events())
    total = sum(2 * weight.size for weight in weight_blocks(upload.files.config))
    assert events[-1].done_bytes == events[-1].total_bytes == total
    done = [event.done_bytes for event in events]
    assert done == sorted(set(done))
    for weight in weight_blocks(upload.files.config):
        np.testing.assert_array_equal(upload.on_device(weight), upload.in_file(weight))


def test_weights_of_another_dtype_are_converted_on_the_way(tmp_path, monkeypatch):
    folder = make_tiny_model(tmp_path / "f32", dtype="F32")
    with emulated_cupy():
        upload = Upload(folder, 2048, monkeypatch)
        list(upload.events())
        for weight in weight_blocks(upload.files.config):
            np.testing.assert_array_equal(upload.on_device(weight), upload.in_file(weight))


def test_several_threads_read_at_a_time(tiny, monkeypatch):
    with emulated_cupy():
        upload = Upload(tiny, 1024, monkeypatch)
        together = threading.Barrier(upload.module.STAGING_BUFFERS)
        read, first = upload.module.to_bf16_rows, set()

        def read_with_others(*piece):
            if threading.current_thread() not in first:
                first.add(threading.current_thread())
                together.wait(timeout=60)  # breaks, unless all read at the same time
            return read(*piece)

        monkeypatch.setattr(upload.module, "to_bf16_rows", read_with_others)
        list(upload.events())
        assert len(first) == upload.module.STAGING_BUFFERS


def test_cancel_and_damage_end_the_upload(tiny, monkeypatch):
    with emulated_cupy():
        upload = Upload(tiny, 1024, monkeypatch)
        events = upload.events()
        next(events)
        upload.control.cancel()
        with pytest.raises(LoadCancelled):
            next(events)

        def broken(*_):
            raise BadModelFile("model.safetensors", "planted")

        upload.control = GenerationControl()
        monkeypatch.setattr(upload.module, "to_bf16_rows", broken)
        with pytest.raises(BadModelFile, match="planted"):
            list(upload.events())
        assert not any("weight reader" in thread.name for thread in threading.enumerate())
