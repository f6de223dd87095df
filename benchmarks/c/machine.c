#include <stdint.h>

void machine(int64_t n, const int64_t *codes, const float *x, float a, int64_t k, float half,
             float *an, int64_t *kn, float *seen) {
    for (int64_t t = 0; t < n; t++) {
        switch (codes[t]) {
            case 0: a *= x[t]; break;
            case 1: a += x[t]; k++; break;
            case 2: a = -a; k--; break;
            default: a *= half; k += 2;
        }
        seen[t] = a;
    }
    *an = a;
    *kn = k;
}
