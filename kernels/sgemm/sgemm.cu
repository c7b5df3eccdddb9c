// C = alpha * A * B + beta * C in row-major order: a 64 x 64 tile per block of 256 threads, staged
// through shared memory 16 columns at a time, 4 x 4 results per thread.
// The sizes are multiples of the tile.
constexpr int TILE = 64;
constexpr int DEPTH = 16;
constexpr int PER_THREAD = 4;

extern "C" __global__ void __launch_bounds__(256)
    sgemm(int n, int k, float alpha, const float *a, const float *b, float beta, float *c) {
    __shared__ float tile_a[DEPTH][TILE];
    __shared__ float tile_b[DEPTH][TILE];
    int thread = threadIdx.x;
    int row0 = blockIdx.y * TILE;
    int column0 = blockIdx.x * TILE;
    int thread_row = thread / 16 * PER_THREAD;
    int thread_column = thread % 16 * PER_THREAD;

    float sum[PER_THREAD][PER_THREAD] = {};
#pragma unroll 1
    for (int depth = 0; depth < k; depth += DEPTH) {
        // A arrives transposed, so that the inner loop reads both tiles along rows.
        int a_row = thread / 4;
        int a_column = thread % 4 * 4;
        float4 from_a = *(const float4 *)&a[(row0 + a_row) * k + depth + a_column];
        tile_a[a_column + 0][a_row] = from_a.x;
        tile_a[a_column + 1][a_row] = from_a.y;
        tile_a[a_column + 2][a_row] = from_a.z;
        tile_a[a_column + 3][a_row] = from_a.w;
        int b_row = thread / 16;
        int b_column = thread % 16 * 4;
        *(float4 *)&tile_b[b_row][b_column] =
            *(const float4 *)&b[(depth + b_row) * n + column0 + b_column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            float4 left = *(const float4 *)&tile_a[i][thread_row];
            float4 right = *(const float4 *)&tile_b[i][thread_column];
            float lefts[PER_THREAD] = {left.x, left.y, left.z, left.w};
            float rights[PER_THREAD] = {right.x, right.y, right.z, right.w};
#pragma unroll
            for (int y = 0; y < PER_THREAD; y++) {
#pragma unroll
                for (int x = 0; x < PER_THREAD; x++) {
                    sum[y][x] = fmaf(lefts[y], rights[x], sum[y][x]);
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int y = 0; y < PER_THREAD; y++) {
#pragma unroll
        for (int x = 0; x < PER_THREAD; x++) {
            int at = (row0 + thread_row + y) * n + column0 + thread_column + x;
            c[at] = fmaf(alpha, sum[y][x], __fmul_rn(beta, c[at]));
        }
    }
}
