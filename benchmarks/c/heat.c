#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void heat(int64_t size, int64_t n, const float *u0, float rate, float *un) {
    size_t bytes = size * size * sizeof(float);
    float *old = malloc(bytes), *new = malloc(bytes);
    memcpy(old, u0, bytes);
    memcpy(new, u0, bytes);
    for (int64_t t = 0; t < n; t++) {
        for (int64_t i = 1; i < size - 1; i++) {
            const float *restrict u = old + i * size;
            float *restrict to = new + i * size;
            for (int64_t j = 1; j < size - 1; j++) {
                float around = (u[j - size] + u[j + size]) + (u[j - 1] + u[j + 1]);
                to[j] = u[j] + rate * (around - 4.0f * u[j]);
            }
        }
        float *swapped = old;
        old = new;
        new = swapped;
    }
    memcpy(un, old, bytes);
    free(old);
    free(new);
}
