"""card.py - arrays in GPU memory for the tests, made with the functions of the CUDA driver: of a GPU's, or of a simulated one
(tests/gpu/). TUTTI_CUDA_LIBRARY names the driver.

SPDX-License-Identifier: BSD-3-Clause
"""
import array
import ctypes
import os

from tutti import _dlpack

_driver = ctypes.CDLL(os.environ.get("TUTTI_CUDA_LIBRARY") or "libcuda.so.1")
_pointer, _bytes = ctypes.c_void_p, ctypes.c_size_t
NON_BLOCKING = 1
# For each format of array.array: the kind in DLPack, and numpy's letter.
KINDS = {"f": (2, "f"), "d": (2, "f"), "i": (0, "i"), "B": (1, "u")}


def _call(name, *arguments):
    failed = getattr(_driver, name)(*arguments)
    if failed:
        raise RuntimeError(f"{name}: the driver's error {failed}")


def start(rank):
    """Initialize the driver, and select a device."""
    n, device, context = ctypes.c_int(), ctypes.c_int(), _pointer()
    _call("cuInit", 0)
    _call("cuDeviceGetCount", ctypes.byref(n))
    _call("cuDeviceGet", ctypes.byref(device), rank % n.value)
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    _call("cuCtxSetCurrent", context)


def stream():
    """A new stream that does not synchronize with the default stream."""
    handle = _pointer()
    _call("cuStreamCreate", ctypes.byref(handle), NON_BLOCKING)
    return handle.value


def settle(handle=None):
    _call("cuStreamSynchronize", _pointer(handle))


class Memory:
    """Elements in GPU memory, of a format of array.array. Copies to and from it are enqueued on one stream."""

    def __init__(self, values, form="f", on=None, shape=None):
        self.host = array.array(form, values)
        self.form, self.on, self.shape = form, on, tuple(shape or (len(self.host),))
        self.at = _pointer()
        self.asked = []  # the streams for which the array was requested
        _call("cuMemAlloc_v2", ctypes.byref(self.at), _bytes(max(self.nbytes, 1)))
        self.put(self.host)

    @property
    def nbytes(self):
        return len(self.host) * self.host.itemsize

    def put(self, values):
        """Enqueue a copy of the values on the array's stream."""
        self.host = array.array(self.form, values)  # must live until the copy is done
        if self.nbytes:
            _call("cuMemcpyHtoDAsync_v2", self.at, _pointer(self.host.buffer_info()[0]), _bytes(self.nbytes), _pointer(self.on))

    def get(self, on=None):
        """Wait for all work enqueued on this stream, and return the elements."""
        out = array.array(self.form, bytes(self.nbytes))
        if self.nbytes:
            _call("cuMemcpyDtoHAsync_v2", _pointer(out.buffer_info()[0]), self.at, _bytes(self.nbytes), _pointer(on))
        settle(on)
        return list(out)

    def zero(self):
        _call("cuMemsetD8Async", self.at, ctypes.c_ubyte(0), _bytes(self.nbytes), _pointer(self.on))

    def __del__(self):
        if self.at.value:
            _driver.cuMemFree_v2(self.at)


class Tensor(Memory):
    """An array like PyTorch's, with __dlpack__, new_empty and zero_."""

    old = False  # True: an older library, whose __dlpack__ does not have max_version

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, *, stream=None, **more):
        if self.old and more:
            raise TypeError("max_version is unknown")
        self.asked.append(stream)
        if (stream if stream != 1 else None) != self.on:
            settle(self.on)
        axes = (ctypes.c_int64 * len(self.shape))(*self.shape)
        tensor = _dlpack._Tensor(self.at.value, 2, 0, len(self.shape), KINDS[self.form][0], 8 * self.host.itemsize, 1, axes, None, 0)
        self.kept = axes, tensor if self.old else _dlpack._Versioned(1, 0, None, None, 0, tensor)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [_pointer, ctypes.c_char_p, _pointer]
        return new(ctypes.addressof(self.kept[1]), b"dltensor" if self.old else b"dltensor_versioned", None)

    def numel(self):
        return len(self.host)

    def new_empty(self, shape):
        n = 1
        for axis in shape:
            n *= axis
        return type(self)([99] * n, self.form, self.on, shape)

    def zero_(self):
        self.zero()


class Bare(Memory):
    """An array like Numba's, with __cuda_array_interface__ and without a function that makes another array."""

    def __init__(self, *arguments, said=None, **named):
        super().__init__(*arguments, **named)
        self.said = said or {}

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": f"<{KINDS[self.form][1]}{self.host.itemsize}", "data": (self.at.value, False),
                "version": 3, "strides": None, "stream": self.on or 1, **self.said}
