"""The C interface of plsh, by ctypes: the structures of plsh/interface/implementation.h."""

from __future__ import annotations

import ctypes
from pathlib import Path

import torch

CPU = 1  # kDLCPU
DLPACK_TYPES = {torch.float32: (2, 32), torch.float64: (2, 64), torch.int64: (0, 64)}

i32, i64, u64, pointer = ctypes.c_int32, ctypes.c_int64, ctypes.c_uint64, ctypes.c_void_p


def structure(name: str, /, **fields: type) -> type[ctypes.Structure]:
    """A C structure with these fields."""
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


DLTensor = structure(
    "DLTensor", data=pointer, device_type=i32, device_id=i32, ndim=i32, code=ctypes.c_uint8,
    bits=ctypes.c_uint8, lanes=ctypes.c_uint16, shape=ctypes.POINTER(i64),
    strides=ctypes.POINTER(i64), byte_offset=u64)
tensor = ctypes.POINTER(DLTensor)
Sampling = structure(
    "plsh_sampling", seed=u64, first_sample=i64, length=i64, sigma=tensor, threads=i32,
    block_counts=tensor, block_starts=tensor)
Attention = structure(
    "plsh_attention", query=tensor, key=tensor, value=tensor, scale=ctypes.c_double, causal=i32,
    threads=i32, slopes=tensor, block_counts=tensor, block_starts=tensor, query_starts=tensor,
    key_starts=tensor, output=tensor, log_sum_exp=tensor, output_gradient=tensor,
    query_gradient=tensor, key_gradient=tensor, value_gradient=tensor, workspace=pointer,
    workspace_bytes=ctypes.c_size_t, stream=pointer)
attention = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Attention))
# Operations that are not called here are plain pointers.
Implementation = structure(
    "plsh_implementation", interface_version=ctypes.c_uint32, struct_size=ctypes.c_uint32,
    name=ctypes.c_char_p, version=ctypes.c_char_p,
    conventions=i32 * (10 + 1 + 4 * 5),  # enumerations, promises, four plsh_precision of five
    device_type=i32, device_id=i32, memory=pointer, error_message=ctypes.CFUNCTYPE(ctypes.c_char_p),
    slopes=pointer, bins=pointer,
    sample_partitions=ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Sampling)),
    mean_mask=pointer, workspace_size=pointer, exact_forward=attention, exact_backward=pointer,
    sampled_forward=attention, sampled_backward=pointer)


def view(of: torch.Tensor) -> ctypes._Pointer:
    """A pointer to a DLTensor of the same memory, which it keeps alive."""
    sizes = i64 * of.dim()
    result = DLTensor(of.data_ptr(), CPU, 0, of.dim(), *DLPACK_TYPES[of.dtype], 1,
                      sizes(*of.shape), sizes(*of.stride()), 0)
    result.memory = of
    return ctypes.pointer(result)


def load(path: Path) -> Implementation:
    """The table of a library. Raises OSError when there is none that can be used here."""
    function = getattr(ctypes.CDLL(str(path)), "plsh_implementation_v1", None)
    if function is None:
        raise OSError("it does not export plsh_implementation_v1")
    function.restype = ctypes.POINTER(Implementation)
    if not (found := function()):
        raise OSError("it cannot work on this machine")
    table = found.contents
    if table.interface_version != 1 or table.struct_size != ctypes.sizeof(Implementation):
        raise OSError("it has another version of the interface")
    if table.device_type != CPU or table.workspace_size:
        raise OSError("it does not work on the CPU, or wants a workspace")
    return table


def checked(table: Implementation, status: int) -> None:
    """Raises what the implementation says when an operation has not succeeded."""
    if status != 0:
        message = table.error_message() if table.error_message else None
        raise RuntimeError((message or b"no reason given").decode())
