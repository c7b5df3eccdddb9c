// Matrix products of 8-bit floating-point numbers on tensor cores (tile.cuh). Ada has instructions for
// them; for Hopper the compiler converts to halves.
#include "tile.cuh"

struct E4m3 : Words<float> {
    __device__ void multiply_add(const unsigned (&a)[4], unsigned b0, unsigned b1) {
        MMA_8_WORDS("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "f");
    }
};

struct E5m2 : Words<float> {
    __device__ void multiply_add(const unsigned (&a)[4], unsigned b0, unsigned b1) {
        MMA_8_WORDS("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32", "f");
    }
};

extern "C" __global__ void __launch_bounds__(128)
    product_e4m3(const unsigned *a, const unsigned *b, float *c, int n, int words) {
    product<E4m3>(a, b, c, n, words);
}

extern "C" __global__ void __launch_bounds__(128)
    product_e5m2_e4m3(const unsigned *a, const unsigned *b, float *c, int n, int words) {
    product<E5m2>(a, b, c, n, words);
}

// 0 to 4 in both formats.
__constant__ unsigned char CODES[2][5] = {{0x00, 0x38, 0x40, 0x44, 0x48}, {0x00, 0x3c, 0x40, 0x42, 0x44}};

// Integers from -4 to 4 as numbers of format 0 (E4M3) or 1 (E5M2).
extern "C" __global__ void integers_to_eighths(const signed char *in, unsigned char *out, int n,
                                               int format) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int value = in[i];
        out[i] = CODES[format][abs(value)] | (value < 0 ? 0x80 : 0);
    }
}
