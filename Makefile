# make test: everything CI checks, its own set-up included. make bench: side by side with peers.
PYTHON = .venv/bin/python
.PHONY: test check pytest setup bench format licenses

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
	$(PYTHON) -m pytest -n 2 --dist loadfile --no-loadscope-reorder

setup:
	./celadon --version
	@# 3: Debian packages cannot be installed here; what needs them is then skipped, loudly, or fails where CI=true
	./celadon install pandas wordnet hf ngram train parse rules ray s3 gs serve test || [ $$? -eq 3 ]
	@# where the index cannot be reached the same holds of what needs the model
	-./celadon models fetch spacy-sm

check:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	.venv/bin/lint-imports

bench: setup
	$(PYTHON) benchmarks/overlap.py
	$(PYTHON) benchmarks/redundancy.py
	$(PYTHON) benchmarks/gruen_speed.py
	$(PYTHON) benchmarks/startup.py

# the packages of a plain installation, in an environment of their own; fails where one is under the GPL
licenses: setup
	$(PYTHON) benchmarks/core_licenses.py

format:
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .
