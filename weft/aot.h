/* What functions of weft's object files say, and how the archive libweft_aot.a that some of them need is asked for more. For C and C++. */
#ifndef WEFT_AOT_H
#define WEFT_AOT_H
#ifdef __cplusplus
extern "C" {
#endif

/* What a function of an object file gives back. */
enum {
  WEFT_AOT_OK = 0,
  WEFT_AOT_NO_MEMORY = 1,  /* there was no memory for temporaries; the results mean nothing */
  WEFT_AOT_BAD_POINTER = 2 /* an array is null, or not aligned to its elements; nothing was computed */
};

/* The same in words, for people. */
const char* weft_aot_message(int status);

/* The level of x86-64 that this processor has, 1 to 4 (the psABI's x86-64, x86-64-v2, -v3 and -v4), or 0 where it is another processor.
   WEFT_AOT_LEVEL in the environment asks for less. Object files for several of them choose by it, once a process. */
int weft_aot_level(void);

#ifdef __cplusplus
}
#endif
#endif
