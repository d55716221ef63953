"""The pass `divide-into-subnets`: what the chip runs and what the host runs, each part a function that `main` calls.

The parts are those that a target makes: as few as can be, and of as few the ones between which the fewest bytes go
(`transload.partitioning`). Each function says by an attribute where it runs. The pass `inline` puts all of it together again.

Source: the TPU-MLIR manual, its pass `subnet-divide`.
"""

from __future__ import annotations

from transload.errors import Finding, PassError
from transload.ir import Module, Op, Symbol, Value, input_names, output_names, set_results
from transload.partitioning import TARGET, Part, partition

__all__ = ["PLACE", "divide_into_subnets"]

PLACE = "tpu.place"
"""The attribute of a function that says where it runs: `chip` or `host`."""


def divide_into_subnets(module: Module) -> bool:
    """Make a function of each part of `main`, in place; whether anything changed. Ops of the hub run on the host.

    Raises `PassError` where `main` calls functions, but for those that this pass made.
    """
    if any(PLACE in function.attributes for function in module.functions.values()):
        return False
    if any(op.name == "func.call" for op in module.body_of_main):
        raise PassError("a network that calls functions is not divided", [
            Finding("main", "calls functions", hint="put the pass `inline` before")])
    main, block, names = module.main, module.body_of_main, output_names(module.main)
    cut = partition(module, lambda op: op.dialect != "top")
    for op in reversed(list(block)):
        op.erase()
    values: dict[str, Value] = dict(zip(input_names(main), block.arguments, strict=True))
    for number, part in enumerate(cut.parts):
        inner = part.module.main
        given = [value.type for value in part.module.body_of_main.terminator.operands]
        name = _add(module, part, number)
        call = block.append(Op("func.call", [values[each] for each in input_names(inner)], given, {"callee": Symbol(name)}))
        values.update(zip(output_names(inner), call.results, strict=True))
    set_results(main, [values[cut.outputs[name]] for name in names], names)
    return True


def _add(module: Module, part: Part, number: int) -> str:
    """Add a part to a module as a private function; gives its name, which is no other's."""
    name = f"subnet{number}"
    while name in module.functions:
        name += "_"
    function = part.module.main.clone({})
    function.attributes |= {"sym_name": name, "sym_visibility": "private", PLACE: "chip" if part.place == TARGET else "host"}
    module.body.append(function)
    return name
