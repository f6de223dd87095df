#include <stdint.h>

void xorshift(int64_t n, uint32_t x, uint32_t *last, uint32_t *numbers) {
    for (int64_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        numbers[i] = x;
    }
    *last = x;
}
