#include <stdint.h>

void average(int64_t n, const float *x, float a, float m, float s, float *ms, float *ss) {
    for (int64_t t = 0; t < n; t++) {
        float d = x[t] - m;
        m += a * d;
        s += a * (d * d - s);
        ms[t] = m;
        ss[t] = s;
    }
}
