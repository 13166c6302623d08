"""Arithmetic and memory that Numba lacks, for compiled code."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload, overload_method

from tictac_env.compiled.numba_names import CALLED


@intrinsic  # type: ignore[untyped-decorator]
def _population_count(typing_context: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), emit


@overload_method(types.Integer, "bit_count", strict=False, jit_options=CALLED)  # type: ignore[untyped-decorator]
def _bit_count(value: Any) -> Any:
    """`int.bit_count` of a non-negative value, which Numba lacks."""
    return lambda value: _population_count(value)


def wrapping_product(first: int, second: int) -> int:
    """The product of two int64 modulo 2**64, in [-2**63, 2**63); an ordinary product must not overflow."""
    product = int(first) * int(second) & (1 << 64) - 1
    return product - (product >> 63 << 64)


@intrinsic  # type: ignore[untyped-decorator]
def _product(typing_context: Any, first: Any, second: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.mul(*arguments)

    return types.int64(types.int64, types.int64), emit


@overload(wrapping_product, strict=False, jit_options=CALLED)  # type: ignore[untyped-decorator]
def _wrapping_product(first: Any, second: Any) -> Any:
    return lambda first, second: _product(first, second)


def prefetch(array: Any, index: int) -> None:
    """Asks the processor for an element of a contiguous array that will be needed soon; interpreted it does nothing."""


@intrinsic  # type: ignore[untyped-decorator]
def _fetch(typing_context: Any, array: Any, index: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, i32, i32, i32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        builder.call(function, [address, i32(0), i32(3), i32(1)])  # to read, into all caches, data
        return context.get_dummy_value()

    return types.void(array, index), emit


@overload(prefetch, strict=False, jit_options=CALLED)  # type: ignore[untyped-decorator]
def _prefetch(array: Any, index: Any) -> Any:
    return lambda array, index: _fetch(array, index)


def store_bytes(array: Any, begin: int, word: int, count: int) -> None:
    """Writes the lowest `count` bytes of `word`, 4 or 8, to the int8 array from `begin` on, the lowest first.

    Compiled it is one store; as everywhere in compiled code the bounds are not checked.
    """
    array[begin : begin + count] = memoryview(int(word).to_bytes(8, "little")[:count]).cast("b")


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def _store(typing_context: Any, array: Any, begin: Any, word: Any, count: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        bits = ir.IntType(8 * count.literal_value)
        place = builder.bitcast(builder.gep(data, [arguments[1]]), bits.as_pointer())
        builder.store(builder.trunc(arguments[2], bits) if bits.width < 64 else arguments[2], place, align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, count), emit


@overload(store_bytes, prefer_literal=True, strict=False, jit_options=CALLED)  # type: ignore[untyped-decorator]
def _store_bytes(array: Any, begin: Any, word: Any, count: Any) -> Any:
    return lambda array, begin, word, count: _store(array, begin, word, count)
