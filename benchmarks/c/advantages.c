#include <stdint.h>

void advantages(int64_t n, const float *reward, const float *value, const float *after,
                const float *goes_on, float discount, float decay, float g, float *advantage,
                float *target) {
    for (int64_t t = n - 1; t >= 0; t--) {
        float error = reward[t] + discount * after[t] * goes_on[t] - value[t];
        g = error + decay * goes_on[t] * g;
        advantage[t] = g;
        target[t] = g + value[t];
    }
}
