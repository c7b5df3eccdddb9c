// Matrix transpose through a 32 x 32 tile in shared memory, 8 rows at a time. Without padding the
// 32 lanes that read a column of the tile meet in one bank; one word of padding per row spreads them.
constexpr int TILE = 32;
constexpr int ROWS = 8;

template <int PADDING>
__device__ void transpose(const float *in, float *out, int width, int height) {
    __shared__ float tile[TILE][TILE + PADDING];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int row = 0; row < TILE; row += ROWS) {
        tile[threadIdx.y + row][threadIdx.x] = in[(y + row) * width + x];
    }
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (int row = 0; row < TILE; row += ROWS) {
        out[(y + row) * height + x] = tile[threadIdx.x][threadIdx.y + row];
    }
}

extern "C" __global__ void transpose_conflicts(const float *in, float *out, int width, int height) {
    transpose<0>(in, out, width, height);
}

extern "C" __global__ void transpose_padded(const float *in, float *out, int width, int height) {
    transpose<1>(in, out, width, height);
}

// No tile at all: reads along rows, writes along columns, each warp store touching 32 lines.
extern "C" __global__ void transpose_uncoalesced(const float *in, float *out, int width, int height) {
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int row = 0; row < TILE; row += ROWS) {
        out[x * height + y + row] = in[(y + row) * width + x];
    }
}
