"""The benchmarks run: commands, options, and the random model that they make for themselves."""

from engine.models.model_config import ModelConfig
from engine.models.model_files import open_model
from engine.models.weights import weight_blocks
from tests.bench import __main__ as bench
from tests.bench import random_model
from tests.engine.models.tiny_model import make_tiny_model, tiny_config

FEW = ["--tokens", "2", "--prompt", "4"]


def test_the_cpu_is_measured_on_a_named_model(tmp_path, capsys):
    folder = make_tiny_model(tmp_path / "m")
    bench.main(["cpu", str(folder), *FEW])
    head, line = capsys.readouterr().out.splitlines()
    assert "qwen3, 2 layers" in head
    assert line.startswith("CPU (NumPy): decode ")


def test_without_a_model_random_weights_are_made_and_removed(monkeypatch, capsys):
    monkeypatch.setattr(random_model, "QWEN3_06B", tiny_config())
    seen = []

    def opened(path):
        seen.append(path)
        return open_model(path)

    monkeypatch.setattr(bench.bench_cpu, "open_model", opened)
    bench.main(["cpu", "--layers", "1", *FEW])
    assert "qwen3, 1 layers" in capsys.readouterr().out
    assert not seen[0].exists()


def test_both_devices_are_measured_where_there_is_a_gpu(tmp_path, monkeypatch, capsys):
    folder = make_tiny_model(tmp_path / "m")
    measured = []
    monkeypatch.setattr(bench.bench_cpu, "main", lambda arguments: measured.append(arguments))
    monkeypatch.setattr(bench, "bench_cuda_main", lambda arguments: measured.append(arguments))
    monkeypatch.setattr(bench, "cuda_is_usable", lambda: False)
    bench.main([str(folder)])
    assert measured == [[str(folder)]]
    assert "no usable NVIDIA GPU" in capsys.readouterr().out
    monkeypatch.setattr(bench, "cuda_is_usable", lambda: True)
    bench.main([str(folder)])
    assert measured == [[str(folder)]] * 3


def test_the_random_model_has_the_published_number_of_parameters():
    config = ModelConfig.from_dict(random_model.QWEN3_06B, "random")
    assert sum(block.size for block in weight_blocks(config)) == 596_049_920
