/* Fits a line by steps along the gradient. Knows nothing of weft but the header of the object file. */
#include <loss.h>
#include <stdio.h>

int main(void) {
  float weights[LOSS_WEIGHTS_SIZE] = {0, 0, 0}, offset = 0, x[LOSS_X_SIZE], y[LOSS_Y_SIZE], value, dw[3], db, dx[24], dy[8];
  for (int i = 0; i < 24; ++i) x[i] = (float)(i * 7 % 11) / 11;
  for (int i = 0; i < 8; ++i) y[i] = 1 * x[3 * i] - 2 * x[3 * i + 1] + 3 * x[3 * i + 2] + 0.5f;
  for (int step = 0; step < 3000; ++step) {
    if (loss_grad_call(weights, &offset, x, y, &value, dw, &db, dx, dy) != 0) return 1;
    for (int k = 0; k < 3; ++k) weights[k] -= 0.3f * dw[k];
    offset -= 0.3f * db;
  }
  printf("%.2f %.2f %.2f %.2f\n", weights[0], weights[1], weights[2], offset);
  return 0;
}
