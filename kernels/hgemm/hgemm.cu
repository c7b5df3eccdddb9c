// Half-precision matrix product on tensor cores: C = A * B, A row-major (m x k), B row-major
// (k x n). A block of four warps makes a 64 x 64 tile; cp.async brings 32 columns of A and rows of B
// at a time into two shared buffers in turn; ldmatrix feeds mma.sync m16n8k16. Turing, which has
// neither, copies through registers and takes each step in two of m16n8k8.
// The sizes are multiples of the tile.
#include <cuda_fp16.h>

constexpr int TILE = 64;
constexpr int DEPTH = 32;
// Eight halves of padding keep the rows that one ldmatrix reads in different banks.
constexpr int ROW_A = DEPTH + 8;
constexpr int ROW_B = TILE + 8;

struct Buffers {
    half a[2][TILE][ROW_A];
    half b[2][DEPTH][ROW_B];
};

__device__ unsigned shared_address(const void *pointer) {
    return (unsigned)__cvta_generic_to_shared(pointer);
}

__device__ void copy_16_bytes(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
#else
    *(uint4 *)to = *(const uint4 *)from;
#endif
}

__device__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;");
#endif
}

// Waits until at most the newest PENDING groups of copies are under way.
template <int PENDING>
__device__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING));
#endif
}

__device__ void load_matrices(unsigned (&fragment)[4], const half *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
                 : "r"(shared_address(row)));
}

__device__ void load_matrices_transposed(unsigned (&fragment)[4], const half *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
                 : "r"(shared_address(row)));
}

// A 16 x 8 accumulator in single precision.
struct Single {
    float d[4] = {};

    __device__ void multiply_add(const unsigned (&a)[4], unsigned b0, unsigned b1) {
#if __CUDA_ARCH__ >= 800
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
        half_step(a[0], a[1], b0);
        half_step(a[2], a[3], b1);
#endif
    }

    __device__ void half_step(unsigned a0, unsigned a1, unsigned b) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a0), "r"(a1), "r"(b));
    }

    __device__ void store(float *c, int n, int row, int column) const {
        *(float2 *)&c[row * n + column] = make_float2(d[0], d[1]);
        *(float2 *)&c[(row + 8) * n + column] = make_float2(d[2], d[3]);
    }
};

// A 16 x 8 accumulator in half precision.
struct Half {
    unsigned d[2] = {};

    __device__ void multiply_add(const unsigned (&a)[4], unsigned b0, unsigned b1) {
#if __CUDA_ARCH__ >= 800
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
                     "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                     : "+r"(d[0]), "+r"(d[1])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
        half_step(a[0], a[1], b0);
        half_step(a[2], a[3], b1);
#endif
    }

    __device__ void half_step(unsigned a0, unsigned a1, unsigned b) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 "
                     "{%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                     : "+r"(d[0]), "+r"(d[1])
                     : "r"(a0), "r"(a1), "r"(b));
    }

    __device__ void store(half *c, int n, int row, int column) const {
        *(unsigned *)&c[row * n + column] = d[0];
        *(unsigned *)&c[(row + 8) * n + column] = d[1];
    }
};

__device__ void copy_tiles(Buffers &buffers, int buffer, const half *a, const half *b, int n, int k,
                           int depth) {
    int row0 = blockIdx.y * TILE;
    int column0 = blockIdx.x * TILE;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int chunk = threadIdx.x + i * 128;
        int a_row = chunk / 4;
        int a_column = chunk % 4 * 8;
        copy_16_bytes(&buffers.a[buffer][a_row][a_column],
                      &a[(row0 + a_row) * k + depth + a_column]);
        int b_row = chunk / 8;
        int b_column = chunk % 8 * 8;
        copy_16_bytes(&buffers.b[buffer][b_row][b_column],
                      &b[(depth + b_row) * n + column0 + b_column]);
    }
    commit_copies();
}

template <typename Accumulator, typename Element>
__device__ void product(const half *a, const half *b, Element *c, int n, int k) {
    __shared__ __align__(16) Buffers buffers;
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int warp_row = warp / 2 * 32;
    int warp_column = warp % 2 * 32;
    Accumulator sum[2][4];

    copy_tiles(buffers, 0, a, b, n, k, 0);
    int buffer = 0;
#pragma unroll 1
    for (int depth = 0; depth < k; depth += DEPTH) {
        if (depth + DEPTH < k) {
            copy_tiles(buffers, buffer ^ 1, a, b, n, k, depth + DEPTH);
            wait_for_copies<1>();
        } else {
            wait_for_copies<0>();
        }
        __syncthreads();
#pragma unroll
        for (int step = 0; step < DEPTH; step += 16) {
            unsigned from_a[2][4];
            unsigned from_b[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                load_matrices(from_a[i],
                              &buffers.a[buffer][warp_row + i * 16 + lane % 16][step + lane / 16 * 8]);
                load_matrices_transposed(
                    from_b[i],
                    &buffers.b[buffer][step + lane % 16][warp_column + i * 16 + lane / 16 * 8]);
            }
#pragma unroll
            for (int y = 0; y < 2; y++) {
#pragma unroll
                for (int x = 0; x < 4; x++) {
                    sum[y][x].multiply_add(from_a[y], from_b[x / 2][x % 2 * 2],
                                           from_b[x / 2][x % 2 * 2 + 1]);
                }
            }
        }
        __syncthreads();
        buffer ^= 1;
    }
#pragma unroll
    for (int y = 0; y < 2; y++) {
#pragma unroll
        for (int x = 0; x < 4; x++) {
            sum[y][x].store(c, n, blockIdx.y * TILE + warp_row + y * 16 + lane / 4,
                            blockIdx.x * TILE + warp_column + x * 8 + lane % 4 * 2);
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
    hgemm_f32(const half *a, const half *b, float *c, int n, int k) {
    product<Single>(a, b, c, n, k);
}

extern "C" __global__ void __launch_bounds__(128)
    hgemm_f16(const half *a, const half *b, half *c, int n, int k) {
    product<Half>(a, b, c, n, k);
}

// Small integers as halves: products of such matrices are exact in either accumulator.
extern "C" __global__ void integers_to_half(const signed char *in, half *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = __int2half_rn(in[i]);
    }
}
