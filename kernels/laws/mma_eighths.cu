// As mma.cu for the 8-bit floats of Ada: streams of tensor-core products into eight independent
// accumulators, 32 per trip, for the peak rate of each accumulator. Two launches that differ in `trips`
// give the cycles of one trip.
constexpr int ACCUMULATORS = 8;
constexpr int STEPS = 4;

struct Operands {
    unsigned a[4];
    unsigned b[2];
};

__device__ void multiply_add(float (&d)[4], const Operands &from) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(from.a[0]), "r"(from.a[1]), "r"(from.a[2]), "r"(from.a[3]), "r"(from.b[0]),
                   "r"(from.b[1]));
}

__device__ void multiply_add(unsigned (&d)[2], const Operands &from) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e4m3.f16 {%0, %1}, {%2, %3, %4, %5}, "
                 "{%6, %7}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(from.a[0]), "r"(from.a[1]), "r"(from.a[2]), "r"(from.a[3]), "r"(from.b[0]),
                   "r"(from.b[1]));
}

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

template <typename Accumulator>
__device__ void stream(const unsigned *operands, float *out, int trips) {
    Operands from;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        from.a[i] = operands[i];
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        from.b[i] = operands[4 + i];
    }
    Accumulator sum[ACCUMULATORS] = {};
#pragma unroll 1
    for (int trip = 0; trip < trips; trip++) {
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
#pragma unroll
            for (int i = 0; i < ACCUMULATORS; i++) {
                multiply_add(sum[i], from);
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

extern "C" __global__ void mma_e4m3_f32(const unsigned *operands, float *out, int trips) {
    stream<Single>(operands, out, trips);
}

extern "C" __global__ void mma_e4m3_f16(const unsigned *operands, float *out, int trips) {
    stream<Half>(operands, out, trips);
}
