// Matrix product of doubles with DMMA: C = A * B, A row-major (m x k), B column-major (n rows of k). A
// warp makes 16 x 8 results; Hopper takes 16 along k at a time, Ampere four. Every result is a chain of
// fused multiply-adds in the order of k.
constexpr int DEPTH = 16;

extern "C" __global__ void __launch_bounds__(128)
    product_f64(const double *a, const double *b, double *c, int n, int k) {
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int row = blockIdx.y * 64 + warp * 16 + lane / 4;
    int column = blockIdx.x * 8;
    double d[4] = {};
    const double *from_a = &a[row * k + lane % 4];
    const double *from_b = &b[(column + lane / 4) * k + lane % 4];
#pragma unroll 1
    for (int depth = 0; depth < k; depth += DEPTH) {
        double x[8];
        double y[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            x[2 * i] = from_a[depth + 4 * i];
            x[2 * i + 1] = from_a[8 * k + depth + 4 * i];
            y[i] = from_b[depth + 4 * i];
        }
#if __CUDA_ARCH__ >= 900
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                     : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                     : "d"(x[0]), "d"(x[1]), "d"(x[2]), "d"(x[3]), "d"(x[4]), "d"(x[5]), "d"(x[6]),
                       "d"(x[7]), "d"(y[0]), "d"(y[1]), "d"(y[2]), "d"(y[3]));
#else
#pragma unroll
        for (int i = 0; i < 4; i++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, "
                             "{%0, %1};"
                             : "+d"(d[2 * half]), "+d"(d[2 * half + 1])
                             : "d"(x[2 * i + half]), "d"(y[i]));
            }
        }
#endif
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        double *to = &c[(row + 8 * half) * n + column + lane % 4 * 2];
        to[0] = d[2 * half];
        to[1] = d[2 * half + 1];
    }
}
