"""Core IR: types, constants, attributes, operations and their declarations."""

from . import registry
from .attributes import Attribute, DenseArray, FloatAttr, IntAttr, OpaqueAttr, Symbol
from .borders import input_types, note_elements, noted_elements, output_types
from .constants import (
    ArrayData,
    Dense,
    ElidedData,
    LazyData,
    MmapData,
    Packed4Data,
    SplatData,
    TensorData,
    dtype_of,
    element_type_of,
)
from .core import Block, Op, Region, Value, is_absent
from .locations import FileLocation, FusedLocation, Location, NamedLocation, OpaqueLocation, location_names
from .module import (
    Cut,
    Module,
    State,
    add_state,
    asked_inputs,
    initial_states,
    input_names,
    new_module,
    output_names,
    set_results,
    update_function_type,
    update_function_types,
)
from .types import (
    BF16,
    BOOL,
    DYNAMIC,
    F16,
    F32,
    F64,
    I4,
    I8,
    I16,
    I32,
    I48,
    I64,
    INDEX,
    NONE,
    UI8,
    UI16,
    UI32,
    UI64,
    Blocks,
    BuiltinType,
    ComplexType,
    DialectType,
    FloatType,
    FunctionType,
    IndexType,
    IntegerType,
    NoneType,
    QuantType,
    TensorType,
    TupleType,
    Type,
)
from .verify import verify

__all__ = [
    "BF16", "BOOL", "DYNAMIC", "F16", "F32", "F64", "I4", "I8", "I16", "I32", "I48", "I64", "INDEX", "NONE",
    "UI8", "UI16", "UI32", "UI64",
    "ArrayData", "Attribute", "Block", "Blocks", "BuiltinType", "ComplexType", "Cut", "Dense", "DenseArray", "DialectType",
    "ElidedData", "FileLocation", "FloatAttr", "FloatType", "FunctionType", "FusedLocation", "IndexType", "IntAttr",
    "IntegerType", "LazyData", "Location", "MmapData", "Module", "NamedLocation", "NoneType", "Op", "OpaqueAttr",
    "OpaqueLocation", "Packed4Data",
    "QuantType", "Region", "SplatData", "State", "Symbol", "TensorData", "TensorType", "TupleType", "Type", "Value",
    "add_state", "asked_inputs", "dtype_of", "element_type_of", "initial_states", "input_names", "input_types", "is_absent",
    "location_names", "new_module", "note_elements", "noted_elements", "output_names", "output_types", "registry", "set_results",
    "update_function_type", "update_function_types", "verify",
]
