// What the matrix products of this folder share: C = A * B with A row-major (m x k) and B column-major
// (n rows of k), so that every operand is rows of 32-bit words along k, whatever the elements. A block
// of four warps makes a 64 x 32 tile; 16 words of each row at a time go through shared memory, and
// ldmatrix deals them out: its 8 x 8 matrices of 16 bits are 8 rows of 4 words.
// The sizes are multiples of the tile; rows are multiples of 16 words.
#pragma once

constexpr int TILE_M = 64;
constexpr int TILE_N = 32;
constexpr int WORDS = 16;
// Four words of padding keep the rows that one ldmatrix reads in different banks.
constexpr int ROW = WORDS + 4;

struct Tiles {
    unsigned a[TILE_M][ROW];
    unsigned b[TILE_N][ROW];
};

__device__ inline void load_matrices(unsigned (&fragment)[4], const unsigned *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)));
}

// Product of one block. Accumulator: 16 x 8 results of a warp, with
// `multiply_add(a, b0, b1)` over 8 words of a row and `store(c, n, row, column)`.
template <typename Accumulator, typename Element>
__device__ inline void product(const unsigned *a, const unsigned *b, Element *c, int n, int words) {
    __shared__ __align__(16) Tiles tiles;
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    Accumulator sum[TILE_N / 8];

#pragma unroll 1
    for (int depth = 0; depth < words; depth += WORDS) {
        // Four words per thread: two rows of A and one of B.
        int row = threadIdx.x / 4;
        int column = threadIdx.x % 4 * 4;
#pragma unroll
        for (int half = 0; half < TILE_M; half += 32) {
            *(uint4 *)&tiles.a[half + row][column] =
                *(const uint4 *)&a[(blockIdx.y * TILE_M + half + row) * words + depth + column];
        }
        *(uint4 *)&tiles.b[row][column] =
            *(const uint4 *)&b[(blockIdx.x * TILE_N + row) * words + depth + column];
        __syncthreads();
#pragma unroll
        for (int step = 0; step < WORDS; step += 8) {
            unsigned from_a[4];
            load_matrices(from_a, &tiles.a[warp * 16 + lane % 16][step + lane / 16 * 4]);
#pragma unroll
            for (int pair = 0; pair < TILE_N / 16; pair++) {
                // Matrices: columns 0 to 7 and the two halves of the step, then columns 8 to 15.
                unsigned from_b[4];
                int at = pair * 16 + lane / 16 * 8 + lane % 8;
                load_matrices(from_b, &tiles.b[at][step + lane / 8 % 2 * 4]);
                sum[2 * pair].multiply_add(from_a, from_b[0], from_b[1]);
                sum[2 * pair + 1].multiply_add(from_a, from_b[2], from_b[3]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int x = 0; x < TILE_N / 8; x++) {
        sum[x].store(c, n, blockIdx.y * TILE_M + warp * 16 + lane / 4,
                     blockIdx.x * TILE_N + x * 8 + lane % 4 * 2);
    }
}

// Results in 32-bit registers, as all accumulators but half and double ones lie.
template <typename Element>
struct Words {
    Element d[4] = {};

    __device__ void store(Element *c, int n, int row, int column) const {
        c[row * n + column] = d[0];
        c[row * n + column + 1] = d[1];
        c[(row + 8) * n + column] = d[2];
        c[(row + 8) * n + column + 1] = d[3];
    }
};

// Operands of an mma with four 32-bit results, one or two registers of B.
#define MMA_8_WORDS(instruction, constraint)                                                       \
    asm volatile(instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"    \
                 : "+" constraint(d[0]), "+" constraint(d[1]), "+" constraint(d[2]),                \
                   "+" constraint(d[3])                                                             \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
