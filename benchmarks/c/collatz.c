#include <stdint.h>

void collatz(int64_t n, int64_t *lengths) {
    for (int64_t i = 0; i < n; i++) {
        int64_t m = i + 1, steps = 0;
        for (; m > 1; steps++) m = m % 2 == 0 ? m / 2 : 3 * m + 1;
        lengths[i] = steps;
    }
}
