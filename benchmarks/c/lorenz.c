#include <stdint.h>

typedef struct {
    float x, y, z;
} point;

static point slope(point p, float sigma, float rho, float beta) {
    return (point){sigma * (p.y - p.x), p.x * (rho - p.z) - p.y, p.x * p.y - beta * p.z};
}

static point ahead(point p, float by, point d) {
    return (point){p.x + by * d.x, p.y + by * d.y, p.z + by * d.z};
}

void lorenz(int64_t n, float x, float y, float z, float sigma, float rho, float beta, float dt,
            float half, float sixth, float *xn, float *yn, float *zn, float *xs, float *ys,
            float *zs) {
    point p = {x, y, z};
    for (int64_t t = 0; t < n; t++) {
        point a = slope(p, sigma, rho, beta);
        point b = slope(ahead(p, half, a), sigma, rho, beta);
        point c = slope(ahead(p, half, b), sigma, rho, beta);
        point d = slope(ahead(p, dt, c), sigma, rho, beta);
        point sum = {a.x + d.x + 2.0f * (b.x + c.x), a.y + d.y + 2.0f * (b.y + c.y),
                     a.z + d.z + 2.0f * (b.z + c.z)};
        p = ahead(p, sixth, sum);
        xs[t] = p.x;
        ys[t] = p.y;
        zs[t] = p.z;
    }
    *xn = p.x;
    *yn = p.y;
    *zn = p.z;
}
