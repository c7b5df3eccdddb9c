// One step of a five-point stencil on a grid of `width` x `height` cells. Each block stages its
// 32 x 8 cells and their rim in shared memory. Cells at the border of the grid stay as they are.
constexpr int TILE_X = 32;
constexpr int TILE_Y = 8;

extern "C" __global__ void
stencil2d(const float *in, float *out, int width, int height, float centre, float side) {
    __shared__ float tile[TILE_Y + 2][TILE_X + 2];
    int x = blockIdx.x * TILE_X + threadIdx.x;
    int y = blockIdx.y * TILE_Y + threadIdx.y;
    int tx = threadIdx.x + 1;
    int ty = threadIdx.y + 1;
    bool inside = x < width && y < height;
    if (inside) {
        tile[ty][tx] = in[y * width + x];
        if (threadIdx.x == 0 && x > 0) {
            tile[ty][0] = in[y * width + x - 1];
        }
        if (threadIdx.x == TILE_X - 1 && x + 1 < width) {
            tile[ty][TILE_X + 1] = in[y * width + x + 1];
        }
        if (threadIdx.y == 0 && y > 0) {
            tile[0][tx] = in[(y - 1) * width + x];
        }
        if (threadIdx.y == TILE_Y - 1 && y + 1 < height) {
            tile[TILE_Y + 1][tx] = in[(y + 1) * width + x];
        }
    }
    __syncthreads();
    if (!inside) {
        return;
    }
    float result = tile[ty][tx];
    if (x > 0 && x + 1 < width && y > 0 && y + 1 < height) {
        float sides = __fadd_rn(__fadd_rn(tile[ty][tx - 1], tile[ty][tx + 1]),
                                __fadd_rn(tile[ty - 1][tx], tile[ty + 1][tx]));
        result = fmaf(side, sides, __fmul_rn(centre, result));
    }
    out[y * width + x] = result;
}
