#include <stdint.h>

void logistic(int64_t n, float r, float x, float *last, float *xs) {
    for (int64_t i = 0; i < n; i++) xs[i] = x = r * x * (1.0f - x);
    *last = x;
}
