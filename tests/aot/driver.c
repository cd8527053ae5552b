/* driver NAME RESULTS BYTES... FILE: calls an exported function. Standard input has each input's length (int64) and bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char* name;
  int (*call)(const void* const* inputs, void* const* outputs);
} functions[] = {
CALLS};

int main(int argc, char** argv) {
  enum { most = 256 };
  const void* inputs[most] = {0};
  void* outputs[most] = {0};
  size_t bytes[most] = {0};
  int results = atoi(argv[2]), status = -1, n = 0;
  int64_t length;
  while (n < most && fread(&length, sizeof length, 1, stdin) == 1) {
    void* memory = aligned_alloc(64, ((size_t)length + 64) / 64 * 64);
    if (!memory || fread(memory, 1, (size_t)length, stdin) != (size_t)length) return 90;
    inputs[n++] = memory;
  }
  for (int i = 0; i < results && i < most; ++i) {
    bytes[i] = (size_t)strtoull(argv[3 + i], NULL, 10);
    outputs[i] = aligned_alloc(64, (bytes[i] + 64) / 64 * 64);
  }
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i)
    if (!strcmp(functions[i].name, argv[1])) status = functions[i].call(inputs, outputs);
  if (status) return 100 + status;
  FILE* out = fopen(argv[argc - 1], "wb");
  if (!out) return 91;
  for (int i = 0; i < results; ++i) fwrite(outputs[i], 1, bytes[i], out);
  return fclose(out) ? 92 : 0;
}
