# ruff: noqa: E501 - lines of programs
"""Groups along axes of a mesh are rows of numbers: the examples of upstream's tests (stablehlo_compat_expander_mesh, interpret_all_gather)."""

from __future__ import annotations

import re

import pytest

from transload.errors import ReadError
from transload.ir.constants import Dense
from transload_converters.stablehlo.bytecode import UnknownConstruct, read_bytecode
from transload_converters.stablehlo.bytecode.meshes import Axis, Mesh, MeshAxis, SubAxis, groups_along

from tests.support.judge_versions import newer_jaxlib

CASES = {
    "first": ("x=2 y=2", "x", None, [[0, 2], [1, 3]]),
    "last": ("x=2 y=2", "y", None, [[0, 1], [2, 3]]),
    "listed devices": ("x=2 y=2", "x", [0, 2, 1, 3], [[0, 1], [2, 3]]),
    "part": ("x=2 y=4", "y(1)2", None, [[0, 2], [1, 3], [4, 6], [5, 7]]),
    "part and axis": ("foo=6 bar=5", "foo(3)2 bar", None, [list(range(n, n + 10)) for n in (0, 10, 20)]),
    "axis and part": ("foo=6 bar=5", "bar foo(3)2", None, [[n + i + 5 * j for i in range(5) for j in range(2)] for n in (0, 10, 20)]),
    "of size one": ("i=1 j=2", "i j", None, [[0, 1]]),
    "parts of one": ("x=8", "x(4)2 x(1)2", None, [[0, 4, 1, 5], [2, 6, 3, 7]]),
}


def text_of(mesh: str, axes: str, devices: list[int] | None) -> str:
    named = ", ".join('#stablehlo.mesh_axis<name = "{}", size = {}>'.format(*part.split("=")) for part in mesh.split())
    listed = f", device_ids = dense<{devices}> : tensor<{len(devices)}xi64>" if devices else ""
    along = []
    for part in axes.split():
        name, before, size = re.fullmatch(r"(\w+)(?:\((\d+)\)(\d+))?", part).groups()  # type: ignore[union-attr]
        along.append(f'#stablehlo.axis_ref<name = "{name}"{f", sub_axis_info = ({before}){size}" if size else ""}>')
    return f"#stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [{named}]{listed}>, axes = [{', '.join(along)}]>"


@newer_jaxlib("does not know meshes in replica_groups")
@pytest.mark.parametrize("case", CASES)
def test_every_binary_form_of_it(case: str) -> None:
    pytest.importorskip("jaxlib", reason="jaxlib writes the artifacts")
    from tests.converters.stablehlo.jaxlib_oracle import forms

    *said, wanted = CASES[case]
    program = f"""func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{
      %0 = "stablehlo.all_reduce"(%a) ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %1 = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }}) {{replica_groups = {text_of(*said)}}} : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }}"""
    written = dict(forms(program, (None,)))
    assert len(written) == 8
    for name, data in written.items():
        module, _ = read_bytecode(memoryview(data))
        [reduce] = [op for op in module.walk() if op.name == "stablehlo.all_reduce"]
        assert reduce.attributes["replica_groups"].numpy().tolist() == wanted, name


@pytest.mark.parametrize(("mesh", "axes"), [
    (Mesh([MeshAxis("x", 4)], None), [Axis("y", None)]),
    (Mesh([MeshAxis("x", 4)], None), [Axis("x", SubAxis(3, 2))]),
    (Mesh([MeshAxis("x", 8)], None), [Axis("x", SubAxis(1, 4)), Axis("x", SubAxis(2, 2))]),
    (Mesh([MeshAxis("x", 4)], None), [Axis("x", None), Axis("x", None)]),
    (Mesh([MeshAxis("x", 0)], None), [Axis("x", None)]),
    (Mesh([MeshAxis("x", 1 << 40)], None), [Axis("x", None)]),
    (Mesh([MeshAxis("x", 4)], Dense([1, 2])), [Axis("x", None)]),
    (Mesh(["x"], None), [Axis("x", None)]), (Mesh([MeshAxis("x", 2)], None), ["x"]), (3, []),
    (Mesh([MeshAxis([], 2)], None), [Axis([], None)]),
])
def test_what_is_no_mesh_is_refused(mesh: Mesh, axes: list[Axis]) -> None:
    with pytest.raises(ReadError):
        groups_along(mesh, axes)


def test_a_mesh_of_another_dialect_is_named() -> None:
    with pytest.raises(UnknownConstruct, match="mesh m, which is an operation of another dialect"):
        groups_along("m", [Axis("x", None)])
