// Matrix product of square matrices through 16 x 16 tiles in shared memory: arithmetic, shared
// memory, barriers and global loads together. `n` is a multiple of 16.
constexpr int TILE = 16;

extern "C" __global__ void mixed(const float *a, const float *b, float *c, int n) {
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    int x = threadIdx.x;
    int y = threadIdx.y;
    int row = blockIdx.y * TILE + y;
    int column = blockIdx.x * TILE + x;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < n; k += TILE) {
        tile_a[y][x] = a[row * n + k + x];
        tile_b[y][x] = b[(k + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) {
            sum = fmaf(tile_a[y][i], tile_b[i][x], sum);
        }
        __syncthreads();
    }
    c[row * n + column] = sum;
}
