# make test: everything CI checks, its own set-up included. make bench: side by side with peers.
PYTHON = .venv/bin/python
# seconds after which a step is ended and counts as failed, however it hangs; each test has its own limit (pyproject.toml)
SETUP_LIMIT = 3600
FETCH_LIMIT = 600
CHECK_LIMIT = 1800
PYTEST_LIMIT = 5400
# for pytest, such as tests/text -k sentence
PYTEST_ARGS =
# any Python 3 runs it; before the set-up there is no other
LIMITED := $(shell for python in $(CELADON_PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
  command -v $$python && break; done) tests/limited.py
.PHONY: test check pytest setup bench format

# container images often set it; then each process compiles all it imports, and the tests start hundreds
unexport PYTHONDONTWRITEBYTECODE

# most of check keeps one core busy, and the tests wait often
test: setup
	$(MAKE) --jobs=2 check pytest

# the tests of a file in one process, which makes what they share once; in their order, so that the longest do not come last
# one thread each: two processes share the cores, and threads that wait for work keep a core busy too
pytest: export CELADON_THREADS = 1
pytest: export OMP_NUM_THREADS = 1
pytest: export OPENBLAS_NUM_THREADS = 1
pytest: export RAYON_NUM_THREADS = 1
pytest:
	$(LIMITED) $(PYTEST_LIMIT) $(PYTHON) -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

setup:
	$(LIMITED) $(SETUP_LIMIT) ./celadon --version
	@# 3: Debian packages cannot be installed here; what needs them is then skipped, loudly, or fails where CI=true
	$(LIMITED) $(SETUP_LIMIT) ./celadon install pandas wordnet hf ngram train parse rules ray s3 gs serve test || [ $$? -eq 3 ]
	@# where the index cannot be reached the same holds of what needs the model
	-$(LIMITED) $(FETCH_LIMIT) ./celadon models fetch spacy-sm

check:
	$(LIMITED) $(CHECK_LIMIT) $(PYTHON) -m ruff format --check .
	$(LIMITED) $(CHECK_LIMIT) $(PYTHON) -m ruff check .
	$(LIMITED) $(CHECK_LIMIT) $(PYTHON) -m mypy
	$(LIMITED) $(CHECK_LIMIT) .venv/bin/lint-imports

bench: setup
	$(PYTHON) benchmarks/overlap.py
	$(PYTHON) benchmarks/redundancy.py
	$(PYTHON) benchmarks/gruen_speed.py
	$(PYTHON) benchmarks/startup.py

format:
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .
