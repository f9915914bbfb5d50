# Every target sets up what it needs first; a second run sets nothing up again.
# PYTHON=/path/to/python3 chooses the Python of .venv, CHROME=/path/to/chrome the browser.
SHELL := bash
.DEFAULT_GOAL := help
.PHONY: help demo lab test test-gallery test-all test-servers test-gpu test-oldest bench bench-localisation notebooks format check lock set-up

# Tests start many processes: without kept bytecode each compiles all of ftlab anew.
unexport PYTHONDONTWRITEBYTECODE

python := .venv/bin/python
pytest := $(python) -m pytest
# Tests of one group share what they run once, and stay in one process. A process that
# crashes is not replaced: xdist waits for ever where it replaces one near the end.
workers := -n auto --maxprocesses 4 --max-worker-restart 0
in_parallel := $(workers) --dist loadgroup
# One shell or kernel after another in a process; files have nothing in common.
by_file := $(workers) --dist loadfile
first_ring := not ipython and not browser and not slow and not gallery and not servers
nbval := --nbval --nbval-current-env --nbval-cell-timeout=120 \
	--nbval-sanitize-with=notebooks/nbval_sanitize.cfg notebooks

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

set-up:  ## make .venv hold what requirements/dev.txt says
	@scripts/set_up.sh

demo: set-up  ## watch a real fine-tune go wrong and see ftlab say why
	$(python) -m ftlab demo

lab: set-up  ## open the first notebook in JupyterLab
	.venv/bin/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks/00_start_here.ipynb

check: set-up
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(python) -m ftlab.rules.docs --check

test: check  ## what CI runs: style, types, floors, tests, notebooks, one pass in a browser
	@scripts/browser.sh >/dev/null
	$(pytest) $(in_parallel) -m "$(first_ring)"
	$(pytest) $(by_file) -m "ipython and not slow" tests/notebook
	$(pytest) $(by_file) $(nbval)
	CHROME=$$(scripts/browser.sh) $(pytest) $(by_file) -m "browser and not slow" tests/browser

test-gallery: set-up  ## every fault and healthy run that make test leaves out
	$(pytest) $(in_parallel) -m gallery tests/faults

test-servers: set-up  ## the tests that ask real model servers, each in its own environment
	@scripts/compiler.sh
	@scripts/servers.sh
	$(pytest) $(in_parallel) -m servers tests/servers

test-all: test test-gallery test-servers  ## test and test-gallery, and what takes long
	@scripts/compiler.sh
	$(pytest) $(in_parallel) -m "slow and not browser and not servers"
	CHROME=$$(scripts/browser.sh) $(pytest) -m "slow and browser" tests/browser

test-gpu: set-up  ## the tests that need a CUDA device
	@$(python) -c 'import sys, torch; sys.exit(None if torch.cuda.is_available() else "There is no CUDA device here.")'
	$(pytest) -m gpu

test-oldest:  ## the tests with transformers 4.57 and what was current beside it
	@scripts/set_up.sh oldest .venv-oldest
	.venv-oldest/bin/python -m pytest $(in_parallel) -m "$(first_ring)"
	.venv-oldest/bin/python -m pytest $(by_file) -m "ipython and not slow" tests/notebook

bench: set-up  ## what watching, the rules and scans cost, and how fast ftlab loads
	@scripts/set_up.sh bench
	$(python) benchmarks/import_time.py
	$(python) -m benchmarks.overhead --write
	$(python) -m benchmarks.reading
	$(python) -m benchmarks.rules_cost
	$(python) -m benchmarks.data_scan

bench-localisation: set-up  ## who names the place of a planted anomaly, and what naming costs
	@scripts/set_up.sh bench
	$(python) -m benchmarks.localisation
	$(python) -m benchmarks.localisation --cost
	$(python) -m benchmarks.planted_pairs

notebooks: set-up  ## run all notebooks and store their outputs
	$(python) scripts/store_notebooks.py notebooks/*.ipynb

format: set-up  ## format the code and mend what ruff can mend
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

lock:  ## write requirements/*.txt anew
	scripts/lock.sh
