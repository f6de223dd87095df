#include <stdint.h>

void triangle(int64_t n, int64_t *result) {
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            for (int64_t k = 0; k < j; k++) found += i * j * k % 7 == 1;
    *result = found;
}
