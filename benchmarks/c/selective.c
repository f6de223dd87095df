#include "selective_steps.h"

void selective(int64_t n, int64_t channels, int64_t states, const float *x, const float *dt,
               const float *B, const float *C, const float *A, const float *h0, float *hn,
               float *ys) {
    (void)states;
    selective_steps(n, channels, x, dt, B, C, A, h0, hn, ys);
}
