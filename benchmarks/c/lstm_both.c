#include "lstm_steps.h"

void lstm_both(int64_t n, int64_t batch, int64_t size, const float *x, const float *W0,
               const float *R0, const float *B0, const float *W1, const float *R1,
               const float *B1, const float *zero, float *ys) {
    float *states = calloc(4 * batch * size, sizeof *states);
    int64_t one = batch * size;
    lstm_steps(n, batch, size, 0, 2 * size, x, W0, R0, B0, states, states + one, ys);
    lstm_steps(n, batch, size, 1, 2 * size, x, W1, R1, B1, states + 2 * one, states + 3 * one,
               ys + size);
    free(states);
}
