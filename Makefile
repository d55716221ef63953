# Everything here works on a fresh machine: the first target makes .venv, with what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What .venv has, by the extras that were installed: for the demo, for the tests and the documentation, for the benchmarks.
DEMO := $(VENV)/.demo
STAMP := $(VENV)/.installed
BENCH := $(VENV)/.bench
# Independent judges whose pinned requirements (an older numpy and ml_dtypes) contradict those of onnx,
# although they work with the newer ones: installed without their dependencies, which are in `test`.
JUDGES := tosa-tools==2026.8.0
JUDGES_NEED := semver

# The test processes share the cores; threads of their own would only fight for them.
export OPENBLAS_NUM_THREADS ?= 1
# Thousands of processes are started, each of which would compile what it imports, where the environment asks for no bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: checks wheels test-lines test-keras test-torch torch-schemas test-tf fuzz conformance schema tensorflow-tables protobuf coverage test-all help venv demo test test-fast lint types docs bench quantizer-bench clean

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make venv       .venv with everything the tests use
venv: $(STAMP)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(DEMO): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e '.[demo]'
	touch $@

$(STAMP): pyproject.toml Makefile | $(BIN)/python
	$(BIN)/python -m pip install -q -e '.[test,docs]' $(JUDGES_NEED)
	$(BIN)/python -m pip install -q --no-deps $(JUDGES)
	touch $(DEMO) $@

$(BENCH): $(STAMP)
	$(BIN)/python -m pip install -q -e '.[bench]'
	touch $@

## make demo       convert the example model for an Ethos-U85 and to TOSA, verify it, print the report
demo: $(DEMO)
	$(BIN)/transload convert examples/digits/digits_int8.tflite --target ethos-u85-256 -o build/demo/ethos-u85
	$(BIN)/transload convert examples/digits/digits_int8.tflite --target tosa -o build/demo/tosa

## make test       lint, types, import contracts, the documentation and the whole test suite
test: $(STAMP) checks
	$(BIN)/python -m pytest -n 2 --dist loadfile -m 'not slow'

# Each has one core's work: side by side.
checks: $(STAMP)
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target types docs lint

## make test-lines  the same tests, and which lines they reach, which takes longer
test-lines: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m 'not slow' --cov --cov-report=term:skip-covered

## make test-all   the same with the thousands of cases that are judged slowly, of which `make test` has a part
test-all: $(STAMP) checks
	$(BIN)/python -m pytest -n 2 --dist loadfile

## make test-fast  the tests that need no real models, without coverage
test-fast: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m 'not slow and not models'

## make test-torch  PyTorch's programs, exported by the PyTorch that is installed here (build/torch), and what is kept of them anew
test-torch: $(STAMP) build/torch/.installed
	PYTHONPATH=build/torch $(BIN)/python -m tests.converters.pytorch.make_kept
	PYTHONPATH=build/torch $(BIN)/python -m tests.converters.pytorch.cases.record
	PYTHONPATH=build/torch $(BIN)/python -m pytest tests/converters/pytorch
	PYTHONPATH=build/torch $(BIN)/python -m pytest tests/docs/test_pages.py -k tutorial-pytorch

# A build without GPUs, beside the environment: everything else does without it.
build/torch/.installed:
	$(BIN)/python -m pip install -q --target build/torch --extra-index-url https://download.pytorch.org/whl/cpu torch torchao
	touch $@

## make torch-schemas  the table of PyTorch's operators, made again of the PyTorch that is installed
torch-schemas: $(STAMP) build/torch/.installed
	PYTHONPATH=build/torch $(BIN)/python converters/transload_converters/pytorch/schema_generator.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/mypy

## make docs       the documentation site, in build/site
docs: $(STAMP)
	$(BIN)/python docs/generate.py
	$(BIN)/python -m zensical build --strict

## make wheels     the wheel, installed for each Python of PYTHONS that is here, passes the tests that need no real models
PYTHONS ?= 3.10 3.11 3.12 3.13
wheels: $(STAMP)
	rm -rf build/wheels && mkdir -p build/wheels
	$(BIN)/python -m pip wheel -q --no-deps --wheel-dir build/wheels .
	set -e; for version in $(PYTHONS); do \
	    command -v python$$version > /dev/null || { echo "no python$$version here: passed over"; continue; }; \
	    python$$version -m venv build/wheels/$$version; \
	    build/wheels/$$version/bin/python -m pip install -q "$$(ls build/wheels/*.whl)[test]" $(JUDGES_NEED); \
	    build/wheels/$$version/bin/python -m pip install -q --no-deps $(JUDGES); \
	    build/wheels/$$version/bin/python -m pytest -n 2 --dist loadfile -m 'not slow and not models' $(TESTS); \
	done

## make bench      what DESIGN promises of speed and memory, measured
bench: $(BENCH)
	$(BIN)/python benchmarks/core_ir.py --json build/bench/core_ir.json
	$(BIN)/python benchmarks/startup.py --json build/bench/startup.json
	$(BIN)/python benchmarks/tflite_vs_peer.py --json build/bench/tflite_vs_peer.json
	$(BIN)/python benchmarks/pose_network.py build/pose/pose_network_int8/model.tflite
	$(BIN)/python benchmarks/tflite_vs_peer.py build/pose --json build/bench/pose_network_vs_peer.json
	$(BIN)/python benchmarks/ethosu_cycles.py --json build/bench/ethosu_cycles.json
	$(BIN)/python benchmarks/onnx_vs_runtime.py --json build/bench/onnx_vs_runtime.json
	$(BIN)/python benchmarks/caffe_models.py --json build/bench/caffe_models.json
	$(BIN)/python benchmarks/tensorflow_models.py --json build/bench/tensorflow_models.json
	$(BIN)/python benchmarks/tensorflow_load.py --json build/bench/tensorflow_load.json
	$(BIN)/python benchmarks/reference_engine.py --json build/bench/reference_engine.json
	$(BIN)/python benchmarks/large_model.py --json build/bench/large_model.json
	$(BIN)/python benchmarks/stablehlo_load.py
	$(BIN)/python benchmarks/stablehlo_export.py --json build/bench/stablehlo_export.json
	$(BIN)/python benchmarks/mobilenet_v2.py build/bench/mobilenet_v2_1.0_224_f32/model.onnx
	$(BIN)/python benchmarks/engines.py build/bench --json build/bench/engines_float.json
	$(BIN)/python benchmarks/engines.py --json build/bench/engines.json

## make quantizer-bench  our quantizer and its peers, side by side, on the same samples
quantizer-bench: $(BENCH) build/peers/.installed
	$(BIN)/python benchmarks/quantizer.py --all --peers build/peers/bin/python --json build/bench/quantizer.json

# The peers pin versions of what we use, too: an environment of their own.
build/peers/.installed: benchmarks/peers.txt
	$(PYTHON) -m venv build/peers
	build/peers/bin/python -m pip install -q -r $<
	touch $@

## make conformance  TOSA's conformance suite, PRO-INT and PRO-FP, in the reference engine (half an hour)
conformance: $(STAMP)
	$(BIN)/python benchmarks/tosa_conformance.py --jobs 2 --json build/conformance/results.json

## make fuzz       20,000 files changed in their structure, through every reader, lowering and some checks; goes on where it ended
fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz --count 20000 --workers 2

## make edits      the same files with one edit each, 20,000 of all that there are, judged; goes on where it ended
.PHONY: edits
edits: $(STAMP)
	$(BIN)/python -m tests.fuzz --single --count 20000 --workers 2

## make sweep      the files that fuzzing starts from, as they are: 20,000 conversions, quantized by all schemes, to all targets, verified
.PHONY: sweep
sweep: $(STAMP)
	$(BIN)/python -m tests.fuzz --unchanged --count 20000 --workers 2

## make drawn      1,000 more cases of each promise of tests/drawn, judged by others' runtimes and rules; goes on where it ended
.PHONY: drawn
drawn: $(STAMP)
	for kind in $$($(BIN)/python -m tests.drawn | cut -d' ' -f1); do $(BIN)/python -m tests.drawn $$kind || exit 1; done

## make kills      600 conversions killed, terminated and interrupted at random moments: old artifacts or new ones, and nothing left
.PHONY: kills
kills: $(STAMP)
	$(BIN)/python benchmarks/kills.py --what convert

## make mistakes   1,000 conversions with one mistake each, made as a plugin's pass: is a wrong artifact told as passed? goes on where it ended
.PHONY: mistakes
mistakes: $(STAMP)
	$(BIN)/python benchmarks/mistakes.py

## make schema     the table of TFLite's schema, made again of the one in the installed ai-edge-litert, and that of report.json
schema: $(STAMP)
	$(BIN)/python -m transload.report_schema
	$(BIN)/python converters/transload_converters/tflite/schema_generator.py

# TensorFlow, and the generator of its messages of a version whose code every later protobuf runs: an environment of their own.
build/tensorflow/.installed:
	$(PYTHON) -m venv build/tensorflow
	build/tensorflow/bin/python -m pip install -q 'tensorflow-cpu>=2.16,<2.19' pluggy click
	build/tensorflow/bin/python -m pip install -q --target build/tensorflow/protoc 'grpcio-tools==1.62.*' 'protobuf==4.25.*'
	touch $@

## make tensorflow-tables  what is made of TensorFlow: its registry of ops, and the Python code of the messages of its files
tensorflow-tables: build/tensorflow/.installed
	build/tensorflow/bin/python converters/transload_converters/tensorflow/opdefs_generator.py
	cd converters && PYTHONPATH=../build/tensorflow/protoc ../build/tensorflow/bin/python -m grpc_tools.protoc -I. \
		--python_out=. transload_converters/tensorflow/messages.proto

## make protobuf   the classes of Caffe's messages, made again of caffe.proto by the generator of protobuf 4.25
protobuf: build/protoc/.installed
	build/protoc/bin/python -m grpc_tools.protoc -Iconverters --python_out=converters \
		converters/transload_converters/caffe/caffe.proto

# Code of an older generator runs with every newer runtime, and not the other way round: the generator is pinned to the 4.25 line.
build/protoc/.installed:
	$(PYTHON) -m venv build/protoc
	build/protoc/bin/python -m pip install -q setuptools grpcio-tools==1.62.3
	touch $@

## make test-tf    run every graph of one TensorFlow op in tensorflow itself, record what it computes, and judge us by it
test-tf: $(STAMP) build/tensorflow/.installed
	PYTHONPATH=core:converters:plugins:targets:. TF_CPP_MIN_LOG_LEVEL=3 TF_ENABLE_ONEDNN_OPTS=0 \
		build/tensorflow/bin/python -m tests.support.tf_ops.record
	$(BIN)/python -m tests.support.tensorflow_flows --count 500 --record tests/converters/tensorflow/flows.json
	PYTHONPATH=$$(build/tensorflow/bin/python -c 'import site; print(site.getsitepackages()[0])') \
		$(BIN)/python -m pytest tests/converters/tensorflow/test_ops.py tests/converters/tensorflow/test_runtime.py

## make test-keras run every layer of Keras in Keras itself, record what it computes, and judge us by it
test-keras: $(STAMP) build/tensorflow/.installed
	TF_CPP_MIN_LOG_LEVEL=3 build/tensorflow/bin/python -m tests.support.keras_layers.record
	$(BIN)/python -m pytest tests/converters/tensorflow/keras

## make coverage   run every one-operator model of TFLite, ONNX, TensorFlow and Caffe and write what was measured (what `transload coverage` shows)
coverage: $(STAMP)
	$(BIN)/python -m tests.support.caffe_layers.measure converters/transload_converters/caffe/coverage.json
	$(BIN)/python -m tests.support.onnx_ops.measure converters/transload_converters/onnx/coverage.json
	$(BIN)/python -m tests.converters.pytorch.cases.measure converters/transload_converters/pytorch/coverage.json
	$(BIN)/python -m tests.support.tflite_ops.measure converters/transload_converters/tflite/coverage.json
	$(BIN)/python -m tests.support.tf_ops.measure converters/transload_converters/tensorflow/coverage.json

clean:
	rm -rf build $(VENV)
