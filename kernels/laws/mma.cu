// Streams of tensor-core products into eight independent accumulators, 32 per trip, for the peak
// rate of each shape. Two launches that differ in `trips` give the cycles of one trip. Turing has
// m16n8k8 alone.
#include <cuda_fp16.h>

constexpr int ACCUMULATORS = 8;
constexpr int STEPS = 4;

// One thread's parts of A and B, each operand in registers of its own.
struct Operands {
    unsigned a[4];
    unsigned b[2];
};

#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
struct Deep { // m16n8k16
    static __device__ void multiply_add(float (&d)[4], const Operands &from) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(from.a[0]), "r"(from.a[1]), "r"(from.a[2]), "r"(from.a[3]), "r"(from.b[0]),
                       "r"(from.b[1]));
    }
    static __device__ void multiply_add(unsigned (&d)[2], const Operands &from) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
                     "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                     : "+r"(d[0]), "+r"(d[1])
                     : "r"(from.a[0]), "r"(from.a[1]), "r"(from.a[2]), "r"(from.a[3]), "r"(from.b[0]),
                       "r"(from.b[1]));
    }
};
#endif

struct Shallow { // m16n8k8
    static __device__ void multiply_add(float (&d)[4], const Operands &from) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(from.a[0]), "r"(from.a[1]), "r"(from.b[0]));
    }
    static __device__ void multiply_add(unsigned (&d)[2], const Operands &from) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 "
                     "{%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                     : "+r"(d[0]), "+r"(d[1])
                     : "r"(from.a[0]), "r"(from.a[1]), "r"(from.b[0]));
    }
};

__device__ float total(const float (&d)[4]) {
    return d[0] + d[1] + d[2] + d[3];
}

__device__ float total(const unsigned (&d)[2]) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float low, high;
        asm("{ .reg .f16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }"
            : "=f"(low), "=f"(high)
            : "r"(d[i]));
        sum += low + high;
    }
    return sum;
}

template <typename Shape, typename Accumulator>
__device__ void stream(const unsigned *ones, float *out, int trips) {
    Operands from;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        from.a[i] = ones[i];
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        from.b[i] = ones[4 + i];
    }
    Accumulator sum[ACCUMULATORS] = {};
#pragma unroll 1
    for (int trip = 0; trip < trips; trip++) {
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
#pragma unroll
            for (int i = 0; i < ACCUMULATORS; i++) {
                Shape::multiply_add(sum[i], from);
            }
        }
    }
    float result = 0.0f;
#pragma unroll
    for (int i = 0; i < ACCUMULATORS; i++) {
        result += total(sum[i]);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = result;
}

using Single = float[4];
using Half = unsigned[2];

#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
extern "C" __global__ void mma_16816_f32(const unsigned *ones, float *out, int trips) {
    stream<Deep, Single>(ones, out, trips);
}

extern "C" __global__ void mma_16816_f16(const unsigned *ones, float *out, int trips) {
    stream<Deep, Half>(ones, out, trips);
}
#endif

extern "C" __global__ void mma_1688_f32(const unsigned *ones, float *out, int trips) {
    stream<Shallow, Single>(ones, out, trips);
}

extern "C" __global__ void mma_1688_f16(const unsigned *ones, float *out, int trips) {
    stream<Shallow, Half>(ones, out, trips);
}
