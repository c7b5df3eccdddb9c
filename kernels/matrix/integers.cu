// Integer matrix products on tensor cores (tile.cuh): 8-bit, 4-bit and single-bit elements. Turing has
// the shapes of eight rows and four words only.
#include "tile.cuh"

// Eight rows and four words at a time.
#define MMA_4_WORDS(instruction, low, high, from_a, from_b)                                        \
    asm volatile(instruction " {%0, %1}, {%2}, {%3}, {%0, %1};"                                    \
                 : "+r"(d[low]), "+r"(d[high])                                                      \
                 : "r"(from_a), "r"(from_b))

#if __CUDA_ARCH__ >= 800
#define INTEGER_PRODUCT(large, small, types) MMA_8_WORDS("mma.sync.aligned." large types, "r")
#else
#define INTEGER_PRODUCT(large, small, types)                                                       \
    MMA_4_WORDS("mma.sync.aligned." small types, 0, 1, a[0], b0);                                  \
    MMA_4_WORDS("mma.sync.aligned." small types, 2, 3, a[1], b0);                                  \
    MMA_4_WORDS("mma.sync.aligned." small types, 0, 1, a[2], b1);                                  \
    MMA_4_WORDS("mma.sync.aligned." small types, 2, 3, a[3], b1)
#endif

#define ACCUMULATOR(name, large, small, types)                                                     \
    struct name : Words<int> {                                                                     \
        __device__ void multiply_add(const unsigned(&a)[4], unsigned b0, unsigned b1) {            \
            INTEGER_PRODUCT(large, small, types);                                                  \
        }                                                                                          \
    };

ACCUMULATOR(Signed8, "m16n8k32", "m8n8k16", ".row.col.s32.s8.s8.s32")
// Unsigned by signed, sums clamped.
ACCUMULATOR(Mixed8, "m16n8k32", "m8n8k16", ".row.col.satfinite.s32.u8.s8.s32")
ACCUMULATOR(Signed4, "m16n8k64", "m8n8k32", ".row.col.s32.s4.s4.s32")
ACCUMULATOR(BitsXor, "m16n8k256", "m8n8k128", ".row.col.s32.b1.b1.s32.xor.popc")

// `words` is the length of a row in 32-bit words.
extern "C" __global__ void __launch_bounds__(128)
    product_s8(const unsigned *a, const unsigned *b, int *c, int n, int words) {
    product<Signed8>(a, b, c, n, words);
}

extern "C" __global__ void __launch_bounds__(128)
    product_u8_s8(const unsigned *a, const unsigned *b, int *c, int n, int words) {
    product<Mixed8>(a, b, c, n, words);
}

extern "C" __global__ void __launch_bounds__(128)
    product_s4(const unsigned *a, const unsigned *b, int *c, int n, int words) {
    product<Signed4>(a, b, c, n, words);
}

extern "C" __global__ void __launch_bounds__(128)
    product_xor(const unsigned *a, const unsigned *b, int *c, int n, int words) {
    product<BitsXor>(a, b, c, n, words);
}
