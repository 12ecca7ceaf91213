"""The commands of `make bench`, and the CPU backend's own benchmark."""

from engine.bench import random_model
from engine.models.model_files import open_model
from tests.bench import __main__ as bench
from tests.engine.models.tiny_model import make_tiny_model, tiny_config

FEW = ["--tokens", "2", "--prompt", "4"]


def test_the_cpu_is_measured_on_a_named_model(tmp_path, capsys):
    folder = make_tiny_model(tmp_path / "m")
    assert bench.main(["cpu", str(folder), *FEW]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert "qwen3, 2 layers" in head
    assert line.startswith("CPU (NumPy): decode ")


def test_without_a_model_random_weights_are_made_and_removed(monkeypatch, capsys):
    config = tiny_config()
    monkeypatch.setattr(
        random_model, "shape_config", lambda name, layers: config | {"num_hidden_layers": layers}
    )
    seen = []

    def opened(path):
        seen.append(path)
        return open_model(path)

    monkeypatch.setattr(bench.bench_cpu, "open_model", opened)
    bench.main(["cpu", "--layers", "1", *FEW])
    assert "qwen3, 1 layers" in capsys.readouterr().out
    assert not seen[0].exists()


def test_commands_reach_their_benchmark_with_their_options(monkeypatch, capsys):
    called = []

    def noted(name, code):
        return lambda arguments: (called.append((name, list(arguments))), code)[1]

    monkeypatch.setattr(bench, "bench_main", noted("speeds", 1))
    monkeypatch.setattr(bench.bench_cpu, "main", noted("cpu", None))
    monkeypatch.setattr(bench, "bench_gemm_main", noted("gemm", None))
    assert bench.main(["cuda", "--runs", "2"]) == 1
    assert bench.main(["--json", "x"]) == 1
    assert bench.main([]) == 1
    assert bench.main(["cpu", "m"]) == 0
    assert bench.main(["gemm"]) == 0
    assert called == [
        ("speeds", ["--device", "cuda", "--runs", "2"]),
        ("speeds", ["--json", "x"]),
        ("speeds", []),
        ("cpu", ["m"]),
        ("gemm", []),
    ]
    assert bench.main(["--help"]) == 0
    assert "Benchmarks:" in capsys.readouterr().out
