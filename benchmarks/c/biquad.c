#include <stdint.h>

void biquad(int64_t n, const float *x, float b0, float b1, float b2, float a1, float a2, float z,
            float *ys) {
    float p[4] = {z, z, z, z}, q[4] = {z, z, z, z};
    for (int64_t t = 0; t < n; t++) {
        float v = x[t];
        for (int k = 0; k < 4; k++) {
            float y = b0 * v + p[k];
            p[k] = b1 * v - a1 * y + q[k];
            q[k] = b2 * v - a2 * y;
            v = y;
        }
        ys[t] = v;
    }
}
