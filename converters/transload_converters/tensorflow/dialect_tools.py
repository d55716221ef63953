"""What TensorFlow's own tools have around ops of `tf`: SavedModels' variables, and parts of a program that are for a device.

Pass `tf-as-imported` leaves none of them. Both dialects are open.
"""

from __future__ import annotations

from transload.ir.declare import ANY, CONSTANT, STRING, TYPE, Dialect, attribute, region, variadic, variadic_result

__all__ = ["DEVICE", "SAVED_MODEL"]

SAVED_MODEL = Dialect("tf_saved_model", "Variables, assets and initializers of a SavedModel.", custom=True)
DEVICE = Dialect("tf_device", "Parts of a program that are for a device.", custom=True)


@SAVED_MODEL.op("global_tensor")
class GlobalTensor:
    """A variable; arguments of functions are bound to it by its name (`tf_saved_model.bound_input`)."""

    sym_name = attribute(STRING, "its name")
    value = attribute(CONSTANT, "what it begins with", optional=True)
    type = attribute(TYPE, "what it holds")
    traits = ("effects", "open")


@DEVICE.op("cluster")
class Cluster:
    """Ops for a device, which run where they stand."""

    results = variadic_result("what its region returns", ANY)
    body = region("one block, ending in tf_device.return")
    traits = ("effects", "open")


@DEVICE.op("launch")
class Launch:
    """Ops for the device that it names, which run where they stand."""

    results = variadic_result("what its region returns", ANY)
    body = region("one block, ending in tf_device.return")
    traits = ("effects", "open")


@DEVICE.op("return")
class Return:
    """Ends a region; its operands are what that gives."""

    values = variadic("what the region gives", ANY)
    traits = ("terminator", "open")
