// As mma.cu for the other types of the Ampere generation: streams of tensor-core products into eight
// independent accumulators, 32 per trip, for the peak rate of each type. Two launches that differ in
// `trips` give the cycles of one trip.
constexpr int ACCUMULATORS = 8;
constexpr int STEPS = 4;

// One thread's parts of A and B, each operand in registers of its own, and metadata.
struct Operands {
    unsigned a[4];
    unsigned b[4];
    unsigned e;
};

#define DENSE(name, instruction, type, constraint)                                                 \
    struct name {                                                                                  \
        using Element = type;                                                                      \
        static __device__ void multiply_add(type(&d)[4], const Operands &from) {                   \
            asm volatile("mma.sync.aligned." instruction                                           \
                         " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"        \
                         : "+" constraint(d[0]), "+" constraint(d[1]), "+" constraint(d[2]),        \
                           "+" constraint(d[3])                                                     \
                         : "r"(from.a[0]), "r"(from.a[1]), "r"(from.a[2]), "r"(from.a[3]),          \
                           "r"(from.b[0]), "r"(from.b[1]));                                         \
        }                                                                                          \
    }

#define SPARSE(name, instruction, type, constraint)                                                \
    struct name {                                                                                  \
        using Element = type;                                                                      \
        static __device__ void multiply_add(type(&d)[4], const Operands &from) {                   \
            asm volatile("mma.sp::ordered_metadata.sync.aligned." instruction                      \
                         " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, "               \
                         "{%0, %1, %2, %3}, %12, 0x0;"                                             \
                         : "+" constraint(d[0]), "+" constraint(d[1]), "+" constraint(d[2]),        \
                           "+" constraint(d[3])                                                     \
                         : "r"(from.a[0]), "r"(from.a[1]), "r"(from.a[2]), "r"(from.a[3]),          \
                           "r"(from.b[0]), "r"(from.b[1]), "r"(from.b[2]), "r"(from.b[3]),          \
                           "r"(from.e));                                                            \
        }                                                                                          \
    }

DENSE(Brain, "m16n8k16.row.col.f32.bf16.bf16.f32", float, "f");
DENSE(Tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", float, "f");
DENSE(Signed8, "m16n8k32.row.col.s32.s8.s8.s32", int, "r");
SPARSE(SparseHalf, "m16n8k32.row.col.f32.f16.f16.f32", float, "f");
SPARSE(SparseSigned8, "m16n8k64.row.col.s32.s8.s8.s32", int, "r");

template <typename Type>
__device__ void stream(const unsigned *from_memory, typename Type::Element *out, int trips) {
    Operands from;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        from.a[i] = from_memory[i];
        from.b[i] = from_memory[4 + i];
    }
    from.e = from_memory[8];
    typename Type::Element sum[ACCUMULATORS][4] = {};
#pragma unroll 1
    for (int trip = 0; trip < trips; trip++) {
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
#pragma unroll
            for (int i = 0; i < ACCUMULATORS; i++) {
                Type::multiply_add(sum[i], from);
            }
        }
    }
    typename Type::Element result = 0;
#pragma unroll
    for (int i = 0; i < ACCUMULATORS; i++) {
        result += sum[i][0] + sum[i][1] + sum[i][2] + sum[i][3];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = result;
}

extern "C" __global__ void mma_bf16(const unsigned *operands, float *out, int trips) {
    stream<Brain>(operands, out, trips);
}

extern "C" __global__ void mma_tf32(const unsigned *operands, float *out, int trips) {
    stream<Tf32>(operands, out, trips);
}

extern "C" __global__ void mma_s8(const unsigned *operands, int *out, int trips) {
    stream<Signed8>(operands, out, trips);
}

extern "C" __global__ void mma_sparse_f16(const unsigned *operands, float *out, int trips) {
    stream<SparseHalf>(operands, out, trips);
}

extern "C" __global__ void mma_sparse_s8(const unsigned *operands, int *out, int trips) {
    stream<SparseSigned8>(operands, out, trips);
}
