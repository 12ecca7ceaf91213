"""The factory: devices, their fallback, and what is refused before anything is loaded."""

import importlib.util
import subprocess
import sys

import pytest

from engine.api import Capability, GenerationControl
from engine.errors import BadModelFile, BadRequest, GpuFault, ModelFileMissing, NoCudaDevice
from engine.models import gguf_file
from engine.open_engine import describe_memory, open_engine
from tests.engine.models.tiny_gguf import make_tiny_gguf
from tests.engine.models.tiny_model import make_tiny_model

without_cupy = pytest.mark.skipif(
    importlib.util.find_spec("cupy") is not None, reason="CuPy is installed here"
)


@without_cupy
def test_auto_falls_back_to_the_cpu_and_cuda_does_not(tiny_folder):
    info = open_engine(tiny_folder, "auto").info()
    assert not info.on_gpu
    assert info.device.startswith("CPU")
    with pytest.raises(NoCudaDevice, match="cupy") as refused:
        open_engine(tiny_folder, "cuda")
    assert refused.value.fault is GpuFault.NOT_INSTALLED


def test_an_unknown_device_is_refused(tiny_folder):
    with pytest.raises(BadRequest, match="tpu"):
        open_engine(tiny_folder, "tpu")


def test_the_capacity_is_cut_to_what_the_model_knows(tiny_folder):
    assert open_engine(tiny_folder, "cpu", 99_999).info().capacity_tokens == 1024
    assert open_engine(tiny_folder, "cpu", 99_999, 3).info().capacity_tokens == 3 * 1024
    assert open_engine(tiny_folder, "cpu", 100).info().capacity_tokens == 100


@pytest.mark.parametrize(("capacity", "sequences"), [(0, 1), (1, 1), (8, 5), (64, 0), (-5, 1)])
def test_a_context_without_room_is_refused(tiny_folder, capacity, sequences):
    with pytest.raises(BadRequest, match="context length"):
        open_engine(tiny_folder, "cpu", capacity, sequences)


def test_a_missing_model_is_named(tmp_path):
    with pytest.raises(ModelFileMissing, match="nowhere"):
        open_engine(tmp_path / "nowhere")


def test_a_tokenizer_larger_than_the_model_is_refused(tmp_path):
    folder = make_tiny_model(tmp_path, vocab_size=300, eos_token_id=299)
    with pytest.raises(BadModelFile, match="the model only 300"):
        open_engine(folder, "cpu")


def test_the_described_memory_is_what_the_engine_plans(tiny_folder):
    plan = describe_memory(tiny_folder, 512, "cpu")
    assert plan == open_engine(tiny_folder, "cpu", 512).info().memory
    assert plan.total_bytes < describe_memory(tiny_folder, 1024, "cpu").total_bytes


def test_a_thinking_model_says_so_and_loads(tiny_folder):
    engine = open_engine(tiny_folder, "cpu", 64)
    assert list(engine.load(GenerationControl()))
    assert Capability.THINKING in engine.info().capabilities
    engine.close()


def test_the_header_of_a_gguf_is_read_once(tmp_path, monkeypatch):
    path = tmp_path / "tiny.gguf"
    make_tiny_gguf(path)
    opened = []

    def counted(path):
        opened.append(path)
        return open_gguf(path)

    open_gguf = gguf_file.open_gguf
    monkeypatch.setattr(gguf_file, "open_gguf", counted)
    assert open_engine(path, "cpu").info().model == "tiny"
    assert opened == [path]


def test_the_gguf_package_is_imported_for_gguf_files_only(tiny_folder):
    program = (
        "import sys; from engine.open_engine import open_engine; "
        "open_engine(sys.argv[1], 'cpu'); assert 'gguf' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program, str(tiny_folder)], check=True)
