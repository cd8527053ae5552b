/* weft from C, and from every language that calls C: arrays, programs read from their text, and their derivatives.
 *
 * Everything is reached through handles, which are freed once each. Handles are immutable and may be used by several threads at once. Each
 * function that can fail returns a weft_status and writes its result behind the last pointer only where that is WEFT_OK; what went wrong is
 * told by weft_error_message() on the same thread. Functions take null for no handle that they are asked about, and say so. A handle that
 * was freed, or one of the other kind, is refused too as long as its memory has not been given to something else; freeing it again does
 * nothing.
 *
 * The interface is that of C99, and stays compatible within a major version of the library: functions and constants are only added. */
#ifndef WEFT_C_H
#define WEFT_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WEFT_C_API __attribute__((visibility("default")))
#else
#define WEFT_C_API
#endif

/* The major number changes where programs must be changed, the minor one where something is added. */
#define WEFT_C_VERSION_MAJOR 1
#define WEFT_C_VERSION_MINOR 0
/* That of the library that is there: 1000 * major + minor. */
WEFT_C_API int weft_c_version(void);
/* The library's own version, as "0.1.0". */
WEFT_C_API const char* weft_version(void);

/* How a call ended; what begins with WEFT_ERROR_ is the C++ class of the error. */
typedef enum weft_status {
  WEFT_OK = 0,
  WEFT_ERROR = 1,          /* another one, or no error of weft's */
  WEFT_ERROR_ARGUMENT = 2, /* of the call itself: a null pointer, a number that is out of range */
  WEFT_ERROR_SHAPE = 3,
  WEFT_ERROR_DTYPE = 4,
  WEFT_ERROR_AXIS = 5,
  WEFT_ERROR_DEVICE = 6,
  WEFT_ERROR_MEMORY = 7,
  WEFT_ERROR_COMPILE = 8,
  WEFT_ERROR_IO = 9,
  WEFT_ERROR_SYSTEM = 10,
  WEFT_ERROR_TRACER = 11
} weft_status;
/* What the last call on this thread that failed says; valid until the next one fails. Empty before. */
WEFT_C_API const char* weft_error_message(void);

/* The types of elements. */
typedef enum weft_dtype {
  WEFT_BOOL = 0, /* a byte, 0 or 1 */
  WEFT_INT8 = 1,
  WEFT_INT16 = 2,
  WEFT_INT32 = 3,
  WEFT_INT64 = 4,
  WEFT_UINT8 = 5,
  WEFT_UINT16 = 6,
  WEFT_UINT32 = 7,
  WEFT_UINT64 = 8,
  WEFT_FLOAT16 = 9,
  WEFT_BFLOAT16 = 10,
  WEFT_FLOAT32 = 11,
  WEFT_FLOAT64 = 12,
  WEFT_COMPLEX64 = 13, /* two floats: the real and the imaginary part */
  WEFT_COMPLEX128 = 14,
  WEFT_KEY = 15 /* of random numbers; not in host memory */
} weft_dtype;
/* Bytes of an element; 0 for no dtype. */
WEFT_C_API size_t weft_dtype_size(weft_dtype dtype);
/* No array has more dimensions. */
#define WEFT_MAX_NDIM 64

/* The devices there are, and the name of one, such as "cpu:0": as much as `size` bytes hold, with a zero at the end. */
WEFT_C_API weft_status weft_device_count(int* count);
WEFT_C_API weft_status weft_device_name(int index, char* name, size_t size);

/* An array of numbers. */
typedef struct weft_array weft_array;

/* A copy of elements in row-major order. */
WEFT_C_API weft_status weft_array_new(const void* data, weft_dtype dtype, const int64_t* shape, int ndim, weft_array** array);
/* An array over memory of the caller's, not copied where the library can use it as it lies. `strides` are counted in elements; null is
 * row-major order. release(context) is called, on any thread, when no array needs the memory any more; until then nobody may write to it.
 * Where the call fails it isn't called. */
WEFT_C_API weft_status weft_array_over(const void* data, weft_dtype dtype, const int64_t* shape, int ndim, const int64_t* strides,
                                       void (*release)(void* context), void* context, weft_array** array);
WEFT_C_API void weft_array_free(weft_array* array);

WEFT_C_API weft_status weft_array_dtype(const weft_array* array, weft_dtype* dtype);
/* The number of dimensions, and, where `shape` is not null, the size of each. It has room for WEFT_MAX_NDIM. */
WEFT_C_API weft_status weft_array_shape(const weft_array* array, int* ndim, int64_t* shape);
/* The number of elements. */
WEFT_C_API weft_status weft_array_size(const weft_array* array, int64_t* size);
/* Copies all elements in row-major order; `bytes` is the room there is, and must be just what they take. Waits for them. */
WEFT_C_API weft_status weft_array_read(const weft_array* array, void* data, size_t bytes);
/* The elements where they lie, to be read as long as the handle lives. Fails where they aren't in one piece of host memory. */
WEFT_C_API weft_status weft_array_data(const weft_array* array, const void** data);
/* As NumPy prints it; weft_text_free frees the text. */
WEFT_C_API weft_status weft_array_text(const weft_array* array, char** text);
WEFT_C_API void weft_text_free(char* text);

/* DLPack: a DLManagedTensor*, or where `versioned` is not 0 a DLManagedTensorVersioned* (https://dmlc.github.io/dlpack). What is taken is
 * released by its deleter, what is given must be. */
WEFT_C_API weft_status weft_array_from_dlpack(void* managed_tensor, int versioned, weft_array** array);
WEFT_C_API weft_status weft_array_to_dlpack(const weft_array* array, int versioned, void** managed_tensor);

/* A function of arrays: so many inputs, so many outputs, each of one shape and dtype. */
typedef struct weft_program weft_program;

/* From a text: a Jaxpr in JAX's notation, or a module of StableHLO. It must have no constants beside the text. */
WEFT_C_API weft_status weft_program_parse(const char* text, weft_program** program);
/* From a file: StableHLO where its name ends in .mlir or .stablehlo, else a Jaxpr, whose constants const0, const1, ... are in the .npz file
 * `constants`; null: it has none. */
WEFT_C_API weft_status weft_program_load(const char* path, const char* constants, weft_program** program);
WEFT_C_API void weft_program_free(weft_program* program);

/* How many inputs and outputs there are; either pointer may be null. */
WEFT_C_API weft_status weft_program_counts(const weft_program* program, int* inputs, int* outputs);
/* What an input or output is; `shape` may be null and has room for WEFT_MAX_NDIM. */
WEFT_C_API weft_status weft_program_input(const weft_program* program, int index, weft_dtype* dtype, int* ndim, int64_t* shape);
WEFT_C_API weft_status weft_program_output(const weft_program* program, int index, weft_dtype* dtype, int* ndim, int64_t* shape);
/* In JAX's notation; weft_text_free frees the text. */
WEFT_C_API weft_status weft_program_text(const weft_program* program, char** text);

/* Runs it, compiled in the first run. `inputs` and `outputs` are as many handles as there are inputs and outputs; those of the outputs are
 * new, and the caller's to free. */
WEFT_C_API weft_status weft_program_run(const weft_program* program, const weft_array* const* inputs, int num_inputs, weft_array** outputs,
                                        int num_outputs);

/* The program that gives the outputs, the first of which must be one floating number, and then its gradient with respect to each of these
 * inputs. */
WEFT_C_API weft_status weft_program_value_and_grad(const weft_program* program, const int* inputs, int num_inputs, weft_program** result);
/* The program of a batch: `axes` has for each input the axis along which it has `size` examples, or WEFT_NOT_MAPPED where all examples
 * share it; null: axis 0 of each. Outputs have the batch as their axis 0. */
#define WEFT_NOT_MAPPED (-2147483647)
WEFT_C_API weft_status weft_program_vmap(const weft_program* program, const int* axes, int64_t size, weft_program** result);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_C_H */
