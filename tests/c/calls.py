#!/usr/bin/env python3
"""The C interface from Python by ctypes: calls.py LIBRARY EXAMPLE. Closes with `N passed, N failed`.

Memory is shared with NumPy, where it is installed, through DLPack's capsules; and with Python's own buffers everywhere.
"""
import array, ctypes as c, gc, importlib.util, math, os, pathlib, re, subprocess, sys, tempfile, threading
# Where another python3 stands before the system's, NumPy is with that one.
if not importlib.util.find_spec("numpy") and os.path.exists("/usr/bin/python3") and not os.environ.get("WEFT_SYSTEM_PYTHON"):
    os.environ["WEFT_SYSTEM_PYTHON"] = "1"
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
library = c.CDLL(sys.argv[1])
header = (pathlib.Path(__file__).resolve().parents[2] / "weft/c.h").read_text()
P, I64 = c.c_void_p, c.c_int64
library.weft_error_message.restype = library.weft_version.restype = c.c_char_p
library.weft_dtype_size.restype = c.c_size_t
library.weft_array_free.argtypes = library.weft_program_free.argtypes = [P]
library.weft_text_free.argtypes = [P]
constants = {name: int(value) for name, value in re.findall(r"(WEFT_[A-Z0-9_]+) = (\d+)", header)}
passed, failures = 0, []


def check(ok, what):
    global passed
    if ok:
        passed += 1
    else:
        failures.append(what)
        print("failed:", what, flush=True)


class Failed(Exception):
    def __init__(self, status):
        super().__init__(library.weft_error_message().decode())
        self.status = status


def call(name, *args):
    status = getattr(library, name)(*args)
    if status:
        raise Failed(status)


def made(name, *args):
    out = P()
    call(name, *args, c.byref(out))
    return out


def refused(status, part, name, *args):
    try:
        call(name, *args)
    except Failed as e:
        check(e.status == constants[status] and part in str(e), f"{name}: wanted {status} and {part!r}, got {e.status}: {e}")
    else:
        check(False, f"{name} was taken")


def dims(*n):
    return (I64 * len(n))(*n), len(n)


def floats(values, *shape):
    data = (c.c_float * len(values))(*values)
    return made("weft_array_new", data, constants["WEFT_FLOAT32"], *dims(*(shape or (len(values),))))


def text_of(name, handle):
    t = P()
    call(name, handle, c.byref(t))
    text = c.string_at(t).decode()
    library.weft_text_free(t)
    return text


def numbers(handle):
    size = I64()
    call("weft_array_size", handle, c.byref(size))
    out = (c.c_float * size.value)()
    call("weft_array_read", handle, out, c.c_size_t(c.sizeof(out)))
    return list(out)


def run(program, *inputs):
    n_in, n_out = c.c_int(), c.c_int()
    call("weft_program_counts", program, c.byref(n_in), c.byref(n_out))
    given, results = (P * len(inputs))(*inputs), (P * n_out.value)()
    call("weft_program_run", program, given, len(inputs), results, n_out.value)
    return [P(r) for r in results]


def close(a, b):
    return len(a) == len(b) and all(abs(x - y) < 1e-5 for x, y in zip(a, b))


# Which library it is.
check(library.weft_c_version() == 1000, "version of the interface")
check(re.fullmatch(r"\d+\.\d+\.\d+", library.weft_version().decode()), "version of the library")
count, name = c.c_int(), c.create_string_buffer(16)
call("weft_device_count", c.byref(count))
call("weft_device_name", 0, name, c.c_size_t(16))
check(count.value >= 1 and name.value == b"cpu:0", "devices")
call("weft_device_name", 0, name, c.c_size_t(4))
check(name.value == b"cpu", "a name is cut where there is no room")
refused("WEFT_ERROR_ARGUMENT", "no device 99", "weft_device_name", 99, name, c.c_size_t(16))
check([library.weft_dtype_size(i) for i in range(15)] == [1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16], "sizes of dtypes")
check(library.weft_dtype_size(-1) == 0 and library.weft_dtype_size(99) == 0, "sizes of what is no dtype")

# Arrays.
x = floats([0, 1, 2, 3, 4, 5], 2, 3)
dtype, ndim, shape = c.c_int(), c.c_int(), (I64 * 64)()
call("weft_array_dtype", x, c.byref(dtype))
call("weft_array_shape", x, c.byref(ndim), shape)
check(dtype.value == constants["WEFT_FLOAT32"] and ndim.value == 2 and list(shape[:2]) == [2, 3], "type of an array")
check(numbers(x) == [0, 1, 2, 3, 4, 5], "elements of an array")
check(text_of("weft_array_text", x) == "[[0. 1. 2.]\n [3. 4. 5.]]", "an array prints")
where = P()
call("weft_array_data", x, c.byref(where))
check(list((c.c_float * 6).from_address(where.value)) == [0, 1, 2, 3, 4, 5], "elements where they lie")
room = (c.c_float * 5)()
refused("WEFT_ERROR_ARGUMENT", "24 bytes", "weft_array_read", x, room, c.c_size_t(20))
refused("WEFT_ERROR_ARGUMENT", "array is null", "weft_array_dtype", None, c.byref(dtype))
refused("WEFT_ERROR_ARGUMENT", "no dtype 77", "weft_array_new", room, 77, *dims(5), c.byref(where))
refused("WEFT_ERROR_SHAPE", "not possible", "weft_array_new", room, 11, *dims(-1), c.byref(where))
refused("WEFT_ERROR_SHAPE", "not possible", "weft_array_new", room, 11, *dims(1 << 40, 1 << 40), c.byref(where))
refused("WEFT_ERROR_ARGUMENT", "65 dimensions", "weft_array_new", room, 11, dims(*[1] * 65)[0], 65, c.byref(where))
refused("WEFT_ERROR_ARGUMENT", "data is null", "weft_array_new", None, 11, *dims(3), c.byref(where))
refused("WEFT_ERROR_ARGUMENT", "data is null", "weft_array_over", None, 11, *dims(3), None, None, None, c.byref(where))
refused("WEFT_ERROR_SHAPE", "with the strides", "weft_array_over", (c.c_float * 3)(), 11, *dims(3), (I64 * 1)(1 << 62), None, None, c.byref(where))
call("weft_array_new", None, 11, *dims(0), c.byref(where))
library.weft_array_free(where)
scalar = made("weft_array_new", room, 11, None, 0)
check(numbers(scalar) == [0], "an array without dimensions")
empty = made("weft_array_new", None, 11, *dims(0, 3))
check(numbers(empty) == [], "an array without elements")

# Memory of the caller's.
released = []
Release = c.CFUNCTYPE(None, P)
release = Release(lambda context: released.append(context))
memory = array.array("f", range(6))
address = memory.buffer_info()[0]
over = made("weft_array_over", P(address), 11, *dims(6), None, release, P(7))
call("weft_array_data", over, c.byref(where))
check(where.value == address and numbers(over) == [0, 1, 2, 3, 4, 5] and not released, "memory is used where it lies")
library.weft_array_free(over)
check(released == [7], "memory is given back")
transposed = made("weft_array_over", P(address), 11, *dims(3, 2), (I64 * 2)(1, 3), release, P(8))
check(released == [7, 8] and numbers(transposed) == [0, 3, 1, 4, 2, 5], "strided memory is copied, and given back at once")
refused("WEFT_ERROR_SHAPE", "not possible", "weft_array_over", P(address), 11, *dims(-3), None, release, P(9), c.byref(where))
check(released == [7, 8], "memory is not given back where the call fails")

# Programs.
source = b"{ lambda ; x:f32[3] w:f32[3]. let a:f32[3] = mul x w; b:f32[3] = sin a; c:f32[] = reduce_sum[axes=(0,)] b in (c, a) }"
f = made("weft_program_parse", source)
call("weft_program_input", f, 1, c.byref(dtype), c.byref(ndim), shape)
check(dtype.value == 11 and ndim.value == 1 and shape[0] == 3, "type of an input")
call("weft_program_output", f, 0, c.byref(dtype), c.byref(ndim), None)
check(ndim.value == 0, "type of an output")
check(text_of("weft_program_text", f).startswith("{ lambda ;"), "a program prints")
u, v = floats([0, 1, 2]), floats([1, 2, 3])
check(close(numbers(run(f, u, v)[0]), [math.sin(2) + math.sin(6)]), "a program runs")
g = made("weft_program_value_and_grad", f, (c.c_int * 2)(1, 0), 2)
value, product, by_w, by_x = map(numbers, run(g, u, v))
check(close(by_w, [0, math.cos(2), 2 * math.cos(6)]) and close(by_x, [1, 2 * math.cos(2), 3 * math.cos(6)]), "gradients in the order asked for")
check(close(value, [math.sin(2) + math.sin(6)]) and close(product, [0, 2, 6]), "all outputs stand before the gradients")
many = floats([0, 1, 2, 3, 4, 5], 2, 3)
batch = made("weft_program_vmap", f, (c.c_int * 2)(0, -2147483647), I64(2))
check(close(numbers(run(batch, many, v)[0]), [math.sin(2) + math.sin(6), math.sin(3) + math.sin(8) + math.sin(15)]), "a batch")
columns = made("weft_program_vmap", f, (c.c_int * 2)(1, 0), I64(2))
check(close(numbers(run(columns, floats([0, 3, 1, 4, 2, 5], 3, 2), floats([1, 2, 3] * 2, 2, 3))[1]), [0, 2, 6, 3, 8, 15]), "a batch along axis 1")
twice = made("weft_program_vmap", made("weft_program_value_and_grad", f, (c.c_int * 1)(0), 1), None, I64(2))
check(close(numbers(run(twice, many, floats([1, 2, 3] * 2, 2, 3))[2])[3:], [math.cos(3), 2 * math.cos(8), 3 * math.cos(15)]), "gradients of a batch")
refused("WEFT_ERROR", "unknown primitive", "weft_program_parse", b"{ lambda ; a:f32[]. let b:f32[] = sine a in (b,) }", c.byref(where))
refused("WEFT_ERROR_ARGUMENT", "2 inputs", "weft_program_run", f, (P * 1)(u), 1, (P * 2)(), 2)
refused("WEFT_ERROR_SHAPE", "input 1 is f32[2,3]", "weft_program_run", f, (P * 2)(u, many), 2, (P * 2)(), 2)
refused("WEFT_ERROR_ARGUMENT", "input 2 of 2", "weft_program_value_and_grad", f, (c.c_int * 1)(2), 1, c.byref(where))
refused("WEFT_ERROR_AXIS", "", "weft_program_vmap", f, (c.c_int * 2)(3, 0), I64(2), c.byref(where))
refused("WEFT_ERROR_ARGUMENT", "1073741824 inputs are named", "weft_program_value_and_grad", f, (c.c_int * 1)(0), 1 << 30, c.byref(where))
refused("WEFT_ERROR_ARGUMENT", "array is not a handle of an array", "weft_array_size", f, c.byref(I64()))
refused("WEFT_ERROR_ARGUMENT", "program is not a handle of a program", "weft_program_counts", u, c.byref(c.c_int()), None)
refused("WEFT_ERROR_ARGUMENT", "an input is not a handle of an array", "weft_program_run", f, (P * 2)(u, f), 2, (P * 2)(), 2)
refused("WEFT_ERROR_ARGUMENT", "-1 dimensions; there can be 0 to 64", "weft_array_new", room, 11, dims(1)[0], -1, c.byref(where))
library.weft_array_free(f)  # of the other kind: nothing is freed
check(library.weft_error_message().startswith(b"array is not a handle of an array") and len(run(f, u, v)) == 2, "a program is not freed as an array")
gone = floats([1], 1)
library.weft_array_free(gone)
library.weft_array_free(gone)
check(library.weft_error_message().startswith(b"array is not a handle of an array"), "a handle is freed once")
refused("WEFT_ERROR_IO", "nowhere.jaxpr", "weft_program_load", b"/nowhere.jaxpr", None, c.byref(where))
stablehlo = b"""func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.sine %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}"""
check(close(numbers(run(made("weft_program_parse", stablehlo), floats([0, 1]))[0]), [0, math.sin(1)]), "StableHLO")
with tempfile.TemporaryDirectory() as folder:
    for file, text in (("f.jaxpr", source), ("f.mlir", stablehlo)):
        path = pathlib.Path(folder) / file
        path.write_bytes(text)
        n = c.c_int()
        call("weft_program_counts", made("weft_program_load", str(path).encode(), None), c.byref(n), None)
        check(n.value == (2 if file == "f.jaxpr" else 1), file)

# Errors are each thread's own.
refused("WEFT_ERROR_ARGUMENT", "text is null", "weft_program_parse", None, c.byref(where))
seen = []
thread = threading.Thread(target=lambda: seen.append(library.weft_error_message()))
thread.start()
thread.join()
check(seen == [b""] and library.weft_error_message() == b"text is null", "another thread's errors")

# NumPy, through DLPack.
try:
    import numpy
except ImportError:
    numpy = None
    print("NumPy is not here", flush=True)
pointer = c.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = P, [c.py_object, c.c_char_p]
rename = c.pythonapi.PyCapsule_SetName
rename.argtypes = [c.py_object, c.c_char_p]
new = c.pythonapi.PyCapsule_New
new.restype, new.argtypes = c.py_object, [P, c.c_char_p, P]


def to_weft(x, versioned):
    capsule = x.__dlpack__(max_version=(1, 0)) if versioned else x.__dlpack__()
    name = b"dltensor_versioned" if versioned else b"dltensor"
    handle = made("weft_array_from_dlpack", P(pointer(capsule, name)), int(versioned))
    rename(capsule, b"used_" + name)
    return handle


class FromWeft:
    """What numpy.from_dlpack asks."""

    def __init__(self, handle, versioned):
        self.handle, self.versioned = handle, versioned

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        managed = P()
        call("weft_array_to_dlpack", self.handle, int(self.versioned), c.byref(managed))
        return new(managed, b"dltensor_versioned" if self.versioned else b"dltensor", None)


if numpy is not None:
    release = tuple(map(int, numpy.__version__.split(".")[:2]))
    versions = [False] + ([True] if release >= (2, 1) else [])
    print("NumPy", numpy.__version__, "versioned" if True in versions else "", flush=True)
    rng = numpy.random.default_rng(0)
    for versioned in versions:
        # Bools are lent by NumPy from 1.25 on.
        for kind in ("bool",)[release < (1, 25) :] + ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"):
            for layout in ("C", "F", "strided", "reversed", "scalar", "empty"):
                x = (rng.integers(0, 2, (4, 6)) if kind == "bool" else rng.integers(0, 100, (4, 6))).astype(kind)
                if kind.startswith("complex"):
                    x = x + x[::-1] * x.dtype.type(1j)
                x = {"C": x, "F": numpy.asfortranarray(x), "strided": x[::2, 1::3], "reversed": x[::-1, ::-1], "scalar": x[1, 1:2].reshape(()), "empty": x[:0]}[layout]
                handle = to_weft(x, versioned)
                call("weft_array_data", handle, c.byref(where))
                back = numpy.from_dlpack(FromWeft(handle, versioned))
                same = back.dtype == x.dtype and back.shape == x.shape and numpy.array_equal(back, x)
                check(same, f"{kind} {layout} versioned={versioned}")
                if layout == "C":
                    check(where.value == x.ctypes.data, f"{kind} is not copied on its way in, versioned={versioned}")
                    check(back.ctypes.data == where.value, f"{kind} is not copied on its way out, versioned={versioned}")
                    check(not versioned or not back.flags.writeable, "what is lent is read-only")
                library.weft_array_free(handle)
                check(numpy.array_equal(back, x), "what was lent outlives the handle")
    # The memory of NumPy's array is held, and given back.
    x = numpy.arange(1000, dtype="float32")
    before = sys.getrefcount(x)
    handle = to_weft(x, False)
    held = sys.getrefcount(x)
    library.weft_array_free(handle)
    gc.collect()
    check(held == before + 1 and sys.getrefcount(x) == before, "NumPy's array is held as long as it is needed")
managed = P()
call("weft_array_to_dlpack", u, 1, c.byref(managed))
c.c_uint32.from_address(managed.value).value = 2
refused("WEFT_ERROR", "DLPack 2.0", "weft_array_from_dlpack", managed, 1, c.byref(where))
c.c_uint32.from_address(managed.value).value = 1
library.weft_array_free(made("weft_array_from_dlpack", managed, 1))
refused("WEFT_ERROR_ARGUMENT", "managed_tensor is null", "weft_array_from_dlpack", None, 1, c.byref(where))

# The example, which is C99.
out = subprocess.run([sys.argv[2]], capture_output=True, text=True, check=True).stdout
want = (pathlib.Path(__file__).parent / "example.txt").read_text()
check(out == want, f"the example prints\n{out}")
print(f"{passed} passed, {len(failures)} failed")
sys.exit(1 if failures else 0)
