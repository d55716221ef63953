"""Loading a StableHLO model of 500 MB: the file read alone, our reader, and jaxlib's own parser.

    python benchmarks/stablehlo_load.py [--size MB] [--layers N] [--folder DIR] [--json FILE]

The model is a stack of dense layers whose weights are constants; a script makes it as a portable artifact, as bytecode that
is not portable, and as text with the weights in hexadecimal. Each measurement runs in a process of its own, three times, and
the best is shown; the files are in the page cache. "Read" reads the bytes and looks at each page of them. Memory is what the
process holds in addition when the module is there: "private" is its own, "file" are pages of the mapped file, which the
system takes back when it needs them.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

FORMS = {"artifact": "model.mlirbc", "bytecode": "model.bc", "text": "model.mlir"}
REPEATS = 3

MEASURE = """
import json, re, sys, time
def memory():
    text = open('/proc/self/status').read()
    names = {'private': 'RssAnon', 'file': 'RssFile'}
    return {key: int(re.search(name + r':\\s+(\\d+)', text)[1]) / 1024 for key, name in names.items()}
path, what = sys.argv[1:]
if what == 'read':
    before, start = memory(), time.perf_counter()
    data = open(path, 'rb').read()
    sum(data[::4096])
    kept = data
elif what == 'ours':
    import transload
    from transload import host
    host()
    from transload.plugin import resolve
    resolve(host().readers['stablehlo'].read)
    transload.load(text='"builtin.module"() ({"func.func"() <{function_type = () -> (), sym_name = "f"}> '
                        '({ "func.return"() : () -> () }) : () -> ()}) : () -> ()', format='stablehlo')
    if path.endswith('.mlir'):
        transload.load(text='func.func @f() { return }', format='stablehlo')  # which starts the bindings
    before, start = memory(), time.perf_counter()
    kept = transload.load(path, format='stablehlo')
else:
    from transload_converters.stablehlo import bindings
    ir, _, stablehlo, _ = bindings._modules()
    context = bindings._context()
    before, start = memory(), time.perf_counter()
    with context, ir.Location.unknown():
        data = open(path, 'rb').read()
        kept = stablehlo.deserialize_portable_artifact(context, data) if path.endswith('.mlirbc') else ir.Module.parse(data)
seconds = time.perf_counter() - start
after = memory()
print(json.dumps({'seconds': seconds, **{key: after[key] - before[key] for key in after}}))
"""


def make(folder: Path, megabytes: int, layers: int) -> None:
    """Write the model in all forms, where it is not there yet."""
    if all((folder / name).exists() for name in FORMS.values()):
        return
    from transload_converters.stablehlo import bindings

    ir, _, stablehlo, _ = bindings._modules()
    width = int((megabytes * 1e6 / 4 / layers) ** 0.5)
    lines, current = [], "%x"
    for layer in range(layers):
        lines += [
            f"%w{layer} = stablehlo.constant dense_resource<w{layer}> : tensor<{width}x{width}xf32>",
            f"%d{layer} = stablehlo.dot_general {current}, %w{layer}, contracting_dims = [1] x [0] : "
            f"(tensor<1x{width}xf32>, tensor<{width}x{width}xf32>) -> tensor<1x{width}xf32>",
            f"%t{layer} = stablehlo.tanh %d{layer} : tensor<1x{width}xf32>",
        ]
        current = f"%t{layer}"
    text = (f"func.func @main(%x: tensor<1x{width}xf32>) -> tensor<1x{width}xf32> {{\n" + "\n".join(lines)
            + f"\nreturn {current} : tensor<1x{width}xf32>\n}}")
    context = bindings._context()
    rng = np.random.default_rng(0)
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
        for op in module.body.operations[0].regions[0].blocks[0].operations:
            if op.operation.name == "stablehlo.constant":
                op.operation.attributes["value"] = ir.DenseElementsAttr.get(rng.standard_normal((width, width), np.float32))
        out = io.BytesIO()
        module.operation.write_bytecode(out)
        (folder / FORMS["bytecode"]).write_bytes(out.getvalue())
        del out
        (folder / FORMS["text"]).write_text(str(module))
        # Last, for it turns the module into VHLO.
        (folder / FORMS["artifact"]).write_bytes(stablehlo.serialize_portable_artifact(module, "1.0.0"))


def measure(path: Path, what: str) -> dict[str, float]:
    """The best of some runs of one task."""
    found = []
    for _ in range(REPEATS):
        done = subprocess.run([sys.executable, "-c", MEASURE, str(path), what], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return min(found, key=lambda each: each["seconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=500, help="megabytes of weights")
    parser.add_argument("--layers", type=int, default=50, help="number of layers")
    parser.add_argument("--folder", type=Path, help="where the models are kept (else they are made anew)")
    parser.add_argument("--json", type=Path, help="write the numbers there, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        make(folder, options.size, options.layers)
        table = {}
        print(f"{'form':10} {'size MB':>8} {'task':8} {'seconds':>8} {'private MB':>11} {'file MB':>8}")
        for form, name in FORMS.items():
            path = folder / name
            for what in ("read", "ours", "jaxlib"):
                row = table[f"{form} {what}"] = measure(path, what)
                numbers = f"{row['seconds']:8.3f} {row['private']:11.1f} {row['file']:8.1f}"
                print(f"{form:10} {path.stat().st_size / 1e6:8.0f} {what:8} {numbers}")
    if options.json:
        options.json.write_text(json.dumps(table, indent=2))


if __name__ == "__main__":
    main()
