// Matrix products with a structured-sparse factor: of every four neighbours along k, A holds two.
// C = A * B, A kept elements row by row (m x k / 2), `choices` which two of each four they are (m x k / 4,
// 0 to 5 for 01, 02, 03, 12, 13, 23), B column-major (n rows of k). A warp makes 16 x 8 results.
#include <cuda_fp16.h>

// Two indices of two bits for each choice.
__constant__ unsigned PAIRS[6] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};

// Metadata of `groups` fours of a row from the choice at `from` on.
__device__ unsigned metadata(const unsigned char *from, int groups) {
    unsigned word = 0;
    for (int i = 0; i < groups; i++) {
        word |= PAIRS[from[i]] << (4 * i);
    }
    return word;
}

// Halves: steps of 32 along k. The lanes 4 g and 4 g + 1 hold the metadata of rows g (lower half of the
// word) and g + 8 (upper half), 16 elements each.
extern "C" __global__ void __launch_bounds__(128)
    sparse_f16(const half *a, const unsigned char *choices, const half *b, float *c, int n, int k) {
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int group = lane / 4;
    int within = lane % 4;
    int row = blockIdx.y * 64 + warp * 16 + group;
    int column = blockIdx.x * 8;
    float d[4] = {};
    const unsigned *words_a = (const unsigned *)a;
    const unsigned *words_b = (const unsigned *)b;
#pragma unroll 1
    for (int depth = 0; depth < k; depth += 32) {
        unsigned x[4];
        unsigned y[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            x[i] = words_a[((row + i % 2 * 8) * k / 2 + depth / 2) / 2 + within + i / 2 * 4];
            y[i] = words_b[((column + group) * k + depth) / 2 + within + i * 4];
        }
        const unsigned char *chosen = &choices[row * k / 4 + depth / 4 + within % 2 * 4];
        unsigned e = metadata(chosen, 4) | metadata(chosen + 8 * k / 4, 4) << 16;
        asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0x0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]),
                       "r"(y[3]), "r"(e));
    }
    c[row * n + column + within * 2] = d[0];
    c[row * n + column + within * 2 + 1] = d[1];
    c[(row + 8) * n + column + within * 2] = d[2];
    c[(row + 8) * n + column + within * 2 + 1] = d[3];
}

// 8-bit integers: steps of 64 along k. Lane 4 g + w holds the metadata of row g (w even) or g + 8, of the
// first (w below 2) or the second 32 elements.
extern "C" __global__ void __launch_bounds__(128)
    sparse_s8(const signed char *a, const unsigned char *choices, const signed char *b, int *c, int n,
              int k) {
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int group = lane / 4;
    int within = lane % 4;
    int row = blockIdx.y * 64 + warp * 16 + group;
    int column = blockIdx.x * 8;
    int d[4] = {};
    const unsigned *words_a = (const unsigned *)a;
    const unsigned *words_b = (const unsigned *)b;
#pragma unroll 1
    for (int depth = 0; depth < k; depth += 64) {
        unsigned x[4];
        unsigned y[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            x[i] = words_a[((row + i % 2 * 8) * k / 2 + depth / 2) / 4 + within + i / 2 * 4];
            y[i] = words_b[((column + group) * k + depth) / 4 + within + i * 4];
        }
        const unsigned char *chosen = &choices[(row + within % 2 * 8) * k / 4 + depth / 4];
        unsigned e = metadata(chosen + within / 2 * 8, 8);
        asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0x0;"
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]),
                       "r"(y[3]), "r"(e));
    }
    c[row * n + column + within * 2] = d[0];
    c[row * n + column + within * 2 + 1] = d[1];
    c[(row + 8) * n + column + within * 2] = d[2];
    c[(row + 8) * n + column + within * 2 + 1] = d[3];
}

// Small integers as halves.
extern "C" __global__ void integers_to_half(const signed char *in, half *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = __int2half_rn(in[i]);
    }
}
