#include <stdint.h>

// The first fifteen outputs reach back into the state there was before.
void fir(int64_t n, const float *x, const float *taps, const float *line, float *ys) {
    for (int64_t t = 0; t < n; t++) {
        float sum = 0.0f;
        if (t < 15)
            for (int k = 0; k < 16; k++) sum += taps[k] * (t + k < 15 ? line[t + k + 1] : x[t + k - 15]);
        else
            for (int k = 0; k < 16; k++) sum += taps[k] * x[t + k - 15];
        ys[t] = sum;
    }
}
