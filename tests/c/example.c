/* Reads a program, runs it, differentiates it, maps it over a batch. */
#include <stdio.h>
#include <stdlib.h>
#include <weft/c.h>

static void check(weft_status status) {
  if (status == WEFT_OK) return;
  fprintf(stderr, "error %d: %s\n", (int)status, weft_error_message());
  exit(1);
}

int main(void) {
  /* What print(jax.make_jaxpr(f)(x, w)) writes in Python. */
  const char* text =
      "{ lambda ; x:f32[3] w:f32[3]. let\n"
      "    a:f32[3] = mul x w\n"
      "    b:f32[3] = sin a\n"
      "    c:f32[] = reduce_sum[axes=(0,)] b\n"
      "  in (c,) }";
  weft_program *f, *gradient, *batch;
  check(weft_program_parse(text, &f));

  const float x[3] = {0.f, 1.f, 2.f}, w[3] = {1.f, 1.f, 1.f};
  const int64_t shape[1] = {3};
  weft_array *inputs[2], *results[2];
  check(weft_array_new(x, WEFT_FLOAT32, shape, 1, &inputs[0]));
  check(weft_array_new(w, WEFT_FLOAT32, shape, 1, &inputs[1]));

  float value, slope[3];
  const int wrt[1] = {1};
  check(weft_program_value_and_grad(f, wrt, 1, &gradient));
  check(weft_program_run(gradient, (const weft_array* const*)inputs, 2, results, 2));
  check(weft_array_read(results[0], &value, sizeof value));
  check(weft_array_read(results[1], slope, sizeof slope));
  printf("%.4f, gradient %.4f %.4f %.4f\n", value, slope[0], slope[1], slope[2]);
  weft_array_free(results[0]);
  weft_array_free(results[1]);

  /* The same w for a batch of x. */
  const float many[2][3] = {{0.f, 1.f, 2.f}, {3.f, 4.f, 5.f}};
  const int64_t many_shape[2] = {2, 3};
  const int axes[2] = {0, WEFT_NOT_MAPPED};
  weft_array_free(inputs[0]);
  check(weft_array_new(many, WEFT_FLOAT32, many_shape, 2, &inputs[0]));
  check(weft_program_vmap(f, axes, 2, &batch));
  check(weft_program_run(batch, (const weft_array* const*)inputs, 2, results, 1));
  float values[2];
  char* printed;
  check(weft_array_read(results[0], values, sizeof values));
  check(weft_array_text(inputs[0], &printed));
  printf("%.4f and %.4f, of\n%s\n", values[0], values[1], printed);
  weft_text_free(printed);
  weft_array_free(results[0]);

  /* What can't be is an error, with a code and a text. */
  const weft_status status = weft_program_run(f, (const weft_array* const*)inputs, 2, results, 1);
  printf("%d: %s\n", (int)status, weft_error_message());

  weft_array_free(inputs[0]);
  weft_array_free(inputs[1]);
  weft_program_free(batch);
  weft_program_free(gradient);
  weft_program_free(f);
  return 0;
}
