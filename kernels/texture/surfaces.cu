// Surfaces: read, change and write back, and what happens outside of them.
#include <cuda_runtime.h>

// Inverts colours in place and adds the red ones of the left and the right neighbour, which are zero
// and the edge's outside.
extern "C" __global__ void invert(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width,
                                  int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    uchar4 own, left, right;
    surf2Dread(&own, from, x * 4, y);
    surf2Dread(&left, from, (x - 1) * 4, y, cudaBoundaryModeZero);
    surf2Dread(&right, from, (x + 1) * 4, y, cudaBoundaryModeClamp);
    own.x = 255 - own.x;
    own.y = 255 - own.y;
    own.z = left.x + right.x;
    surf2Dwrite(own, to, x * 4, y);
}

// Blurs a volume along z, each layer of a stack with a factor of its own, and mirrors a line.
extern "C" __global__ void shapes(cudaSurfaceObject_t volume, cudaSurfaceObject_t result,
                                  cudaSurfaceObject_t stack, cudaSurfaceObject_t line, int width,
                                  int height, int depth) {
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    if (x < width && y < height && z < depth) {
        float before, own, after;
        surf3Dread(&before, volume, x * 4, y, z - 1, cudaBoundaryModeClamp);
        surf3Dread(&own, volume, x * 4, y, z);
        surf3Dread(&after, volume, x * 4, y, z + 1, cudaBoundaryModeClamp);
        surf3Dwrite(fmaf(0.5f, own, __fmul_rn(0.25f, __fadd_rn(before, after))), result, x * 4, y, z);
        float2 pair;
        surf2DLayeredread(&pair, stack, x * 8, y, z);
        pair.x = __fmul_rn(pair.x, (float)z);
        pair.y = __fadd_rn(pair.y, (float)z);
        surf2DLayeredwrite(pair, stack, x * 8, y, z);
    }
    if (z == 0 && y == 0 && x < width) {
        ushort1 value;
        surf1Dread(&value.x, line, x * 2);
        __syncwarp();
        surf1Dwrite(value.x, line, (width - 1 - x) * 2);
    }
}

// Votes of all threads: sums, minima and maxima by place; places beyond the end are dropped.
extern "C" __global__ void votes(cudaSurfaceObject_t table, const int *values, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    int value = values[i];
    int place = value & 15;
    asm volatile("sured.b.add.2d.u32.zero [%0, {%1, %2}], %3;" ::"l"(table), "r"(place * 4), "r"(0),
                 "r"(1));
    asm volatile("sured.b.min.2d.s32.zero [%0, {%1, %2}], %3;" ::"l"(table), "r"(place * 4), "r"(1),
                 "r"(value));
    asm volatile("sured.b.max.2d.s32.zero [%0, {%1, %2}], %3;" ::"l"(table), "r"(place * 4), "r"(2),
                 "r"(value));
    asm volatile("sured.b.or.2d.b32.zero [%0, {%1, %2}], %3;" ::"l"(table), "r"(place * 4), "r"(3),
                 "r"(value));
}

// Stores that convert to the surface's format: halves and clamped bytes.
extern "C" __global__ void convert(cudaSurfaceObject_t halves, cudaSurfaceObject_t bytes,
                                   const float *values, const int *integers) {
    int i = threadIdx.x;
    int x = i % 8, y = i / 8;
    asm volatile("sust.p.2d.v2.b32.trap [%0, {%1, %2}], {%3, %4};" ::"l"(halves), "r"(x), "r"(y),
                 "r"(__float_as_int(values[i])), "r"(__float_as_int(values[i ^ 1])));
    asm volatile("sust.p.2d.v4.b32.clamp [%0, {%1, %2}], {%3, %4, %5, %6};" ::"l"(bytes), "r"(x), "r"(y),
                 "r"(integers[i]), "r"(integers[i ^ 1]), "r"(integers[i ^ 2]), "r"(integers[i ^ 3]));
}

// Reads the array that another launch wrote through a surface.
extern "C" __global__ void reread(cudaTextureObject_t image, float4 *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        out[y * width + x] = tex2D<float4>(image, (float)x + 0.75f, (float)y + 0.625f);
    }
}
