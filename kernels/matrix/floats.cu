// Matrix products of bfloat16 and TF32 numbers on tensor cores (tile.cuh).
#include <cuda_bf16.h>

#include "tile.cuh"

struct Brain : Words<float> {
    __device__ void multiply_add(const unsigned (&a)[4], unsigned b0, unsigned b1) {
        MMA_8_WORDS("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "f");
    }
};

struct Tf32 : Words<float> {
    __device__ void multiply_add(const unsigned (&a)[4], unsigned b0, unsigned b1) {
        MMA_8_WORDS("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "f");
    }
};

extern "C" __global__ void __launch_bounds__(128)
    product_bf16(const unsigned *a, const unsigned *b, float *c, int n, int words) {
    product<Brain>(a, b, c, n, words);
}

extern "C" __global__ void __launch_bounds__(128)
    product_tf32(const unsigned *a, const unsigned *b, float *c, int n, int words) {
    product<Tf32>(a, b, c, n, words);
}

// Small integers as bfloat16 numbers.
extern "C" __global__ void integers_to_bf16(const signed char *in, __nv_bfloat16 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = __float2bfloat16_rn((float)in[i]);
    }
}
