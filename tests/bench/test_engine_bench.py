"""`python -m engine.bench`: what it measures, what it writes, and when it writes no speed."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from engine.api import GenerationStats
from engine.bench import __main__ as bench
from engine.bench import machine, replies, session, speed
from engine.bench.accuracy import PASSAGE, Accuracy, compare, load
from engine.bench.random_model import shape_config
from engine.bench.replies import long_reply, prompt_of, timed_reply
from engine.bench.result import BenchError, Row
from engine.bench.speed import Costs, Limits, Speeds
from engine.bench.start import timed_starts
from engine.cpu.cpu_backend import CpuBackend
from engine.errors import NumericalError
from engine.generation import TextEngine
from engine.models.model_config import ModelConfig
from engine.models.model_files import open_model
from engine.text.tokenizer import Tokenizer
from tests.engine.fake_backend import FakeBackend
from tests.engine.models.tiny_model import make_tiny_model, token_id

END = token_id("<|im_end|>")
QWEN3 = ModelConfig.from_dict(shape_config("qwen3-0.6b"), "catalog")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture
def words(tiny):
    """An engine whose replies never end; room for 4,096 tokens."""

    def build(script=(97,)):
        backend = FakeBackend(list(script), capacity_tokens=4096, chunk=512)
        return TextEngine(backend, Tokenizer.from_folder(tiny), "words")

    return build


# --- rows


def test_a_row_tells_median_spread_and_share_of_its_limit():
    row = Row("decode_512", (30.0, 10.0, 20.0), "tokens/s", 80.0, {"prompt_tokens": 16})
    assert row.as_json() == {
        "name": "decode_512",
        "value": 20.0,
        "unit": "tokens/s",
        "share_of_limit": 0.25,
        "spread": [10.0, 30.0],
        "runs": 3,
        "prompt_tokens": 16,
    }
    assert "25% of the limit" in row.as_text()
    assert Row("load_s", (1.0,), "s").as_json()["share_of_limit"] is None


def test_the_limits_of_qwen3_come_from_its_bytes_and_operations():
    costs = Costs.of(QWEN3)
    # 28 layers of 15.73 M weights, the tied lm_head, norms; keys and values of 28 layers.
    assert costs.weight_bytes == pytest.approx(1.192e9, rel=1e-3)
    assert costs.cache_bytes_per_position == 114_688
    limits = Limits(4.476e12, 7e14)
    assert costs.decode_limit(limits, 0) == pytest.approx(3755, rel=1e-3)
    assert costs.decode_limit(limits, 32768) == pytest.approx(904, rel=1e-2)
    assert costs.weight_operations == pytest.approx(0.881e9, rel=1e-3)
    # Half of 2048 x 2048 scores is masked: 28 layers, 16 heads of 128, two products.
    attention = 28 * 2 * 2 * 16 * 128 * 1024
    assert costs.prefill_limit(limits, 2048) == pytest.approx(
        7e14 / (costs.weight_operations + attention)
    )
    assert Costs.of(QWEN3, 4).weight_bytes == 2 * costs.weight_bytes
    assert costs.prefill_limit(Limits(1.0, None), 512) is None
    assert costs.decode_limit(Limits(None, 1.0), 512) is None


# --- replies


@pytest.mark.parametrize("tokens", [20, 77, 1000])
def test_a_prompt_has_as_many_tokens_as_asked_and_its_own_beginning(words, tokens):
    engine = words()
    prompts = [prompt_of(engine, tokens, salt) for salt in ("1.", "2.")]
    assert [engine.count_tokens(prompt) for prompt in prompts] == [tokens, tokens]
    assert prompts[0][0].text[0] != prompts[1][0].text[0]


class Clock:
    """perf_counter of a test; every look takes a microsecond, so that times are not 0."""

    def __init__(self):
        self.now_s = 1.0

    def __call__(self):
        self.now_s += 1e-6
        return self.now_s


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(replies.time, "perf_counter", clock)
    return clock


def test_waiting_for_the_device_is_no_time_of_the_host(words, clock):
    engine = words()
    backend = engine._backend

    def wait():
        clock.now_s += 0.5
        backend.device_wait_s += 0.4

    backend.before_decode = wait
    backend.before_prefill = lambda: setattr(clock, "now_s", clock.now_s + 3.0)
    reply = timed_reply(engine, prompt_of(engine, 40, "x"), 30)
    runs = len(backend.decoded)
    assert reply.decoded_tokens == 29
    assert reply.first_token_s == pytest.approx(3.0, abs=0.01)
    assert reply.decode_s == pytest.approx(0.5 * runs, abs=0.01)
    assert reply.host_s == pytest.approx(0.1 * runs, abs=0.01)
    assert reply.text_characters == 30


def test_a_reply_that_ends_early_is_drawn_again_with_another_seed(words):
    engine = words([97, END])
    backend = engine._backend
    seeds = []
    set_sampler = backend.set_sampler

    def note(slot, sampling, seed, *rest):
        seeds.append(seed)
        backend.script = [97] if len(seeds) == 3 else [97, END]
        set_sampler(slot, sampling, seed, *rest)

    backend.set_sampler = note
    reply = long_reply(engine, prompt_of(engine, 40, "x"), 100, 7)
    assert reply.decoded_tokens == 99
    assert len(set(seeds)) == 3
    backend.set_sampler = set_sampler
    backend.script = [END]
    with pytest.raises(BenchError, match="ended 8 replies"):
        long_reply(engine, prompt_of(engine, 40, "x"), 100, 7)


def test_a_failed_reply_is_raised(words):
    engine = words()

    def fail():
        raise NumericalError("planted")

    engine._backend.before_decode = fail
    with pytest.raises(NumericalError):
        timed_reply(engine, prompt_of(engine, 40, "x"), 9)


# --- speeds


def test_speeds_come_from_the_tokens_and_the_time_of_each_run(words, clock):
    engine = words()
    backend = engine._backend
    backend.before_decode = lambda: setattr(clock, "now_s", clock.now_s + 0.01)
    speeds = Speeds(engine, Costs.of(QWEN3), Limits(1e12, None), runs=3, decode_tokens=64)
    row = speeds.decode_at(1000)
    assert (row.name, len(row.values)) == ("decode_1000", 3)
    runs_of_last = row.facts["decoded_tokens"][-1] / row.values[-1] / 0.01
    assert runs_of_last == pytest.approx(round(runs_of_last), abs=0.02)
    assert row.limit == pytest.approx(1e12 / (1.1921e9 + 1032 * 114_688), rel=1e-3)
    assert row.facts["prompt_tokens"] == 1000


def test_decoding_from_the_first_positions_ends_at_512(words):
    engine = words()
    speeds = Speeds(engine, Costs.of(QWEN3), Limits(None, None), runs=2)
    decode, host = speeds.decode_short()
    assert decode.facts["prompt_tokens"] + decode.facts["decoded_tokens"][0] + 1 == 512
    assert (host.name, len(host.values), host.unit) == ("host_ms_per_token", 2, "ms")


def test_every_prefill_is_of_a_prompt_that_is_new_to_the_cache(words):
    engine = words()
    speeds = Speeds(engine, Costs.of(QWEN3), Limits(None, 1e14), runs=2)
    row = speeds.prefill(600)
    assert row.name == "prefill_600"
    assert row.facts["prompt_tokens"] == 600
    assert row.facts["reused_tokens"] < 10
    assert row.limit is not None
    assert speeds.first_token(100).name == "ttft_100_ms"


def test_the_busy_thread_runs_while_it_is_measured_and_no_longer(words, monkeypatch):
    before, alive = sys.getswitchinterval(), []
    monkeypatch.setattr(speed, "BUSY_S", 0.001)
    monkeypatch.setattr(speed, "PERIOD_S", 0.002)

    def note(engine, messages, tokens, seed):
        alive.append(any(t.name == "busy" for t in speed.threading.enumerate()))
        stats = GenerationStats(1, 0, 0, 3, 0.0, 0.0, 0.0, 0.0, 1, 4, (1, 2, 3))
        return replies.TimedReply(stats, 1.0, 4.0 if alive[-1] else 2.0, 0.0, 3)

    monkeypatch.setattr(speed, "long_reply", note)
    with speed.switch_interval():
        assert sys.getswitchinterval() == pytest.approx(speed.SWITCH_INTERVAL_S)
        row = Speeds(words(), Costs.of(QWEN3), Limits(None, None), 3).beside_a_busy_thread()
    assert alive == [False, True] * 3
    assert row.values == (0.5, 0.5, 0.5)
    assert sys.getswitchinterval() == pytest.approx(before, rel=0.05)  # kept in microseconds
    assert not any(t.name == "busy" for t in speed.threading.enumerate())


# --- accuracy


@pytest.fixture
def backends(tiny):
    files = open_model(tiny)
    pair = CpuBackend(files, 128), CpuBackend(files, 128)
    for backend in pair:
        load(backend)
    return (*pair, Tokenizer.from_folder(tiny).encode(PASSAGE))


def test_the_same_numbers_hold(backends):
    accuracy = compare(*backends)
    assert accuracy.holds
    assert accuracy.positions == 64
    assert accuracy.regret_nat == 0
    assert accuracy.as_json()["holds"] is True


@pytest.mark.parametrize("block", ["input_layernorm", "q_norm", "post_attention_layernorm"])
def test_a_wrong_weight_does_not_hold(backends, block):
    device, reference, passage = backends
    weight = getattr(device._model._weights.layers[1], block)
    weight *= -1
    accuracy = compare(device, reference, passage)
    assert not accuracy.holds
    assert accuracy.as_json()["holds"] is False


def test_an_error_of_the_decode_steps_alone_does_not_hold(backends):
    device, reference, passage = backends
    decode = device.decode

    def off(slots, steps, stop_token_ids):
        tokens = decode(slots, steps, stop_token_ids)[0]
        return {0: [replace(token, logprob=token.logprob - 0.9) for token in tokens]}

    device.decode = off
    accuracy = compare(device, reference, passage)
    assert accuracy.mean_prefill < 0.001
    assert not accuracy.holds


def test_numbers_that_are_none_do_not_hold():
    good = Accuracy("gpu", "cpu", 64, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert good.holds
    for name in ("mean_prefill", "mean_decode", "p99_nat", "regret_nat"):
        assert not replace(good, **{name: float("nan")}).holds
        assert not replace(good, **{name: 0.3}).holds


# --- the whole


def test_a_result_is_written_under_date_device_and_commit(tiny, tmp_path, capsys):
    arguments = ["--model", str(tiny), "--device", "cpu", "--runs", "2", "--commit", "abc123"]
    only = ["--only", "decode_512", "prefill_512", "prefill_2048", "busy_thread_share"]
    assert bench.main([*arguments, *only, "--json", str(tmp_path / "results")]) == bench.EXIT_OK
    (path,) = (tmp_path / "results").iterdir()
    result = json.loads(path.read_text())
    assert path.name == f"{result['date'][:10]}_cpu-numpy_abc123.json"
    assert result["commit"] == "abc123"
    assert "--only decode_512" in result["command"]
    assert [row["name"] for row in result["rows"]] == ["decode_512", "prefill_512"]
    assert set(result["left_out"]) == {"prefill_2048"}
    assert result["accuracy"]["holds"] is True
    assert result["sampling"] == {"temperature": 0.6, "top_k": 20, "top_p": 0.95}
    assert result["limits"]["read_gb_per_s"] > 0
    assert result["host"]["cores"] > 0
    assert "decode_512" in capsys.readouterr().out


def test_no_speed_is_written_where_the_numbers_are_wrong(tiny, tmp_path, monkeypatch, capsys):
    wrong = Accuracy("CPU", "CPU", 64, 0.0, 9.0, 0.0, 0.0, 0.0)
    monkeypatch.setattr(session, "compare", lambda *_: wrong)
    path = tmp_path / "result.json"
    arguments = ["--model", str(tiny), "--device", "cpu", "--json", str(path)]
    assert bench.main(arguments) == bench.EXIT_WRONG
    result = json.loads(path.read_text())
    assert result["rows"] == []
    assert result["accuracy"]["holds"] is False
    assert "decode" not in capsys.readouterr().out.replace("mean_decode", "")


def test_what_goes_wrong_is_one_line_and_an_exit_code(tmp_path, capsys):
    assert bench.main(["--model", str(tmp_path / "none"), "--device", "cpu"]) == bench.EXIT_FAILED
    assert capsys.readouterr().err.startswith("error: ")


def test_a_gpu_that_is_not_there_is_one_line(tiny, monkeypatch, capsys):
    monkeypatch.setattr(session, "cuda_is_usable", lambda: False)
    assert bench.main(["--model", str(tiny), "--device", "cuda"]) == bench.EXIT_FAILED
    assert "no usable NVIDIA GPU" in capsys.readouterr().err


def test_starts_are_timed_in_processes_of_their_own(tiny, tmp_path):
    row = timed_starts("load_s", tiny, "cpu", 256, [tmp_path / "a", tmp_path / "b"])
    assert (row.name, row.unit, len(row.values)) == ("load_s", "s", 2)
    parts = row.facts["parts"]
    assert {"import_s", "open_s", "weights_s", "rest_s", "process_s"} <= set(parts)
    assert parts["process_s"] > row.values[0] > 0


def test_a_start_that_fails_says_why(tmp_path):
    with pytest.raises(BenchError, match=r"a start failed: .*no-model"):
        timed_starts("load_s", tmp_path / "no-model", "cpu", 256, [tmp_path])


# --- the machine


def test_the_commit_is_asked_of_git_unless_it_is_named(monkeypatch):
    assert machine.commit("named") == "named"
    answers = {"rev-parse": "abcdef123", "status": " M file"}
    monkeypatch.setattr(machine, "_output", lambda command: answers[command[3]])
    assert machine.commit() == "abcdef123+"
    answers["status"] = ""
    assert machine.commit() == "abcdef123"
    answers["rev-parse"] = ""
    assert machine.commit() == "unknown"


def test_clocks_come_from_nvidia_smi_where_its_library_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    tool = tmp_path / "nvidia-smi"
    tool.write_text(
        '#!/bin/sh\ncase "$2" in *driver*) echo 580.1;; '
        "*) [ \"$1\" = --id=0000:01:00.0 ] && echo '1980, 3201, 1980, 3201, [N/A], 33';; esac\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert machine.gpu_driver("0000:01:00.0") == "580.1"
    assert machine.gpu_clocks("0000:01:00.0") == {
        "sm_mhz": 1980.0,
        "memory_mhz": 3201.0,
        "max_sm_mhz": 1980.0,
        "max_memory_mhz": 3201.0,
        "temperature_c": 33.0,
    }
    tool.unlink()
    assert machine.gpu_clocks("0000:01:00.0") == {}
    assert machine.gpu_driver("0000:01:00.0") == ""


class FakeNvml:
    """As pynvml, for one GPU that does not tell its power."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2

    class NVMLError(Exception):
        pass

    def nvmlInit(self):
        pass

    def nvmlDeviceGetHandleByPciBusId(self, bus_id):
        if bus_id != b"0000:01:00.0":
            raise self.NVMLError("not found")
        return "handle"

    def nvmlSystemGetDriverVersion(self):
        return b"580.2"

    def nvmlDeviceGetClockInfo(self, handle, which):
        return {1: 1700, 2: 3200}[which]

    def nvmlDeviceGetMaxClockInfo(self, handle, which):
        return {1: 1980, 2: 3201}[which]

    def nvmlDeviceGetPowerUsage(self, handle):
        raise self.NVMLError("not supported")

    def nvmlDeviceGetTemperature(self, handle, sensor):
        return 40


def test_clocks_come_from_nvml_where_it_is_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml())
    monkeypatch.setattr(machine, "_smi", lambda bus, fields: [""] * len(fields))
    assert machine.gpu_driver("0000:01:00.0") == "580.2"
    assert machine.gpu_clocks("0000:01:00.0") == {
        "sm_mhz": 1700.0,
        "memory_mhz": 3200.0,
        "max_sm_mhz": 1980.0,
        "max_memory_mhz": 3201.0,
        "temperature_c": 40.0,
    }
    # NVML knows of no such GPU: then nvidia-smi is asked, and may know nothing either.
    assert machine.gpu_clocks("0000:02:00.0") == {}


def test_a_tool_that_hangs_is_given_up(monkeypatch):
    def hang(command, **options):
        raise subprocess.TimeoutExpired(command, options["timeout"])

    monkeypatch.setattr(machine.subprocess, "run", hang)
    assert machine.gpu_clocks("x") == {}
