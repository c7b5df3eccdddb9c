// Matrix product with mma.m8n8k4, Volta's shape: each pair of quads of a warp makes 8 rows of its own.
// Turing has instructions for it, for later architectures the compiler emulates them. C = A * B with A
// row-major (m x k) and B column-major (n rows of k); a warp makes 32 x 8 results.
#include <cuda_fp16.h>

struct Place {
    int a;      // first element of the lane's row of A
    int b;      // first element of its column of B
    int row;    // first of the eight rows of its pair of quads
    int column; // first of the eight columns
    int upper;  // 4 in the upper lanes of the pair
};

__device__ Place place(int k) {
    int lane = threadIdx.x % 32;
    Place p;
    p.upper = lane / 16 * 4;
    p.row = (blockIdx.y * blockDim.x / 32 + threadIdx.x / 32) * 32 + lane % 16 / 4 * 8;
    p.column = blockIdx.x * 8;
    p.a = (p.row + lane % 4 + p.upper) * k;
    p.b = (p.column + lane % 4 + p.upper) * k;
    return p;
}

extern "C" __global__ void __launch_bounds__(128)
    quads_f32(const half *a, const half *b, float *c, int n, int k) {
    Place p = place(k);
    int lane = threadIdx.x % 32;
    float d[8] = {};
#pragma unroll 1
    for (int depth = 0; depth < k; depth += 4) {
        uint2 x = *(const uint2 *)&a[p.a + depth];
        uint2 y = *(const uint2 *)&b[p.b + depth];
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, "
                     "{%8, %9}, {%10, %11}, {%0, %1, %2, %3, %4, %5, %6, %7};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                       "+f"(d[7])
                     : "r"(x.x), "r"(x.y), "r"(y.x), "r"(y.y));
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int row = p.row + (lane & 1) + (i & 2) + p.upper;
        int column = p.column + (i & 4) + (lane & 2) + (i & 1);
        c[row * n + column] = d[i];
    }
}

extern "C" __global__ void __launch_bounds__(128)
    quads_f16(const half *a, const half *b, half *c, int n, int k) {
    Place p = place(k);
    int lane = threadIdx.x % 32;
    unsigned d[4] = {};
#pragma unroll 1
    for (int depth = 0; depth < k; depth += 4) {
        uint2 x = *(const uint2 *)&a[p.a + depth];
        uint2 y = *(const uint2 *)&b[p.b + depth];
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%0, %1, %2, %3}, {%4, %5}, "
                     "{%6, %7}, {%0, %1, %2, %3};"
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                     : "r"(x.x), "r"(x.y), "r"(y.x), "r"(y.y));
    }
    half *to = &c[(p.row + lane % 4 + p.upper) * n + p.column];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        *(unsigned *)&to[2 * i] = d[i];
    }
}

// Small integers as halves.
extern "C" __global__ void integers_to_half(const signed char *in, half *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = __int2half_rn(in[i]);
    }
}
