# make test: everything CI checks, its own set-up included. make bench: side by side with peers.
PYTHON = .venv/bin/python
EXTRAS = pandas polars parquet plots wordnet hf ngram train parse rules ray s3 gs serve test
COMMA = ,
# the versions that development and CI use
CONSTRAINTS = constraints-dev.txt
# seconds after which a step is ended and counts as failed, however it hangs; each test has its own limit (pyproject.toml)
SETUP_LIMIT = 1200
FETCH_LIMIT = 600
CHECK_LIMIT = 1800
PYTEST_LIMIT = 2700
# for pytest, such as tests/text -k sentence
PYTEST_ARGS =
# any Python 3 runs it; before the set-up there is no other
LIMITED := $(shell for python in $(CELADON_PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
  command -v $$python && break; done) tests/limited.py
.PHONY: test checked tested check pytest packages setup bench format lock test-lowest test-python licenses

# container images often set it; then each process compiles all it imports, and the tests start hundreds
unexport PYTHONDONTWRITEBYTECODE

# most of check keeps one core busy and needs Python packages alone, while the rest of the set-up and the tests wait often;
# a failure of one does not hide what the other has to say
test:
	$(MAKE) --jobs=2 --keep-going checked tested

checked: packages
	$(MAKE) check

tested: setup
	$(MAKE) pytest

# the tests of a file in one process, which makes what they share once; in their order, so that the longest do not come last
# one thread each: two processes share the cores, and threads that wait for work keep a core busy too
pytest: export CELADON_THREADS = 1
pytest: export OMP_NUM_THREADS = 1
pytest: export OPENBLAS_NUM_THREADS = 1
pytest: export RAYON_NUM_THREADS = 1
pytest:
	$(LIMITED) $(PYTEST_LIMIT) $(PYTHON) -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

packages:
	PIP_CONSTRAINT=$(CONSTRAINTS) $(LIMITED) $(SETUP_LIMIT) ./celadon --version
	@# kenlm, of ngram, is compiled while apt-get works
	$(LIMITED) $(SETUP_LIMIT) $(PYTHON) tools/install_packages.py --constraint $(CONSTRAINTS) \
	  --editable '.[$(subst $() ,$(COMMA),$(filter-out ngram,$(EXTRAS)))]'

setup: packages
	@# 3: Debian packages cannot be installed here; what needs them is then skipped, loudly, or fails where CI=true
	$(LIMITED) $(SETUP_LIMIT) ./celadon install --yes --constraint $(CONSTRAINTS) $(EXTRAS) || [ $$? -eq 3 ]
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

# the packages of a plain installation, in an environment of their own; fails where one is under the GPL
licenses: setup
	$(PYTHON) benchmarks/core_licenses.py

format:
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

# The tests in other environments, each beside .venv. uv comes from the package index; pip would install the newest only.
UV = .venv-uv/bin/uv
# torch without CUDA; where uv cannot reach the index that has it, for example: --find-links FOLDER --constraint FILE, and
# to do without torch: --override FILE with the line: torch; sys_platform == 'none'
TORCH_OPTIONS = --torch-backend cpu
UV_INSTALL = pip install --quiet $(TORCH_OPTIONS) --all-extras --requirement pyproject.toml --editable .
PYTHON_VERSION = 3.13

$(UV):
	python3 -m venv .venv-uv
	.venv-uv/bin/pip install --quiet uv

# the lowest versions that pyproject.toml admits of what it names
test-lowest: $(UV)
	$(UV) venv --quiet --clear --python 3.11 .venv-lowest
	$(UV) $(UV_INSTALL) --python .venv-lowest/bin/python --resolution lowest-direct
	$(MAKE) pytest PYTHON=.venv-lowest/bin/python

# another Python, a version or a path: make test-python PYTHON_VERSION=3.12
test-python: $(UV)
	$(UV) venv --quiet --allow-existing --python $(PYTHON_VERSION) .venv-$(notdir $(PYTHON_VERSION))
	$(UV) $(UV_INSTALL) --python .venv-$(notdir $(PYTHON_VERSION))/bin/python --constraint $(CONSTRAINTS)
	$(MAKE) pytest PYTHON=.venv-$(notdir $(PYTHON_VERSION))/bin/python

# the lock file; what it pins stays unless LOCK_OPTIONS=--upgrade. The version of torch is one that has wheels without CUDA
# wherever development happens.
TORCH = 2.13.0
lock: $(UV)
	echo 'torch==$(TORCH)' | $(UV) pip compile --quiet --universal --python-version 3.11 --all-extras --no-annotate \
	  --no-emit-index-url --custom-compile-command 'make lock' $(LOCK_OPTIONS) pyproject.toml - -o $(CONSTRAINTS)
