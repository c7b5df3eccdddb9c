// Levels of detail from given derivatives in three dimensions and on cubes, for which the compiler
// samples in the place of each thread of a quad in turn, with all four threads of the quad.
#include <cuda_runtime.h>

extern "C" __global__ void gradients(cudaTextureObject_t volume, cudaTextureObject_t cube,
                                     cudaTextureObject_t several, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    // Differences that single precision holds exactly.
    float across = fmaf((float)(i % 7), 0.0625f, -0.3125f);
    float down = fmaf((float)(i % 5), 0.125f, -0.375f);
    float step = 0.0625f * (float)(1 << (i % 3));
    float one = i % 2 ? -1.0f : 1.0f;
    int axis = i / 2 % 3;
    float x = axis == 0 ? one : across;
    float y = axis == 1 ? one : axis == 0 ? across : down;
    float z = axis == 2 ? one : down;
    float4 right = axis == 0 ? make_float4(0, step, 0, 0) : make_float4(step, 0, 0, 0);
    float4 below = axis == 2 ? make_float4(0, step * 0.5f, 0, 0) : make_float4(0, 0, step * 0.5f, 0);
    // Quads in which some threads take another way.
    if (i % 5 != 1) {
        out[i] = tex3DGrad<float>(volume, across, down, step, make_float4(0, step * 2, 0, 0),
                                  make_float4(step, 0, 0, 0));
        out[n + i] = texCubemapGrad<float>(cube, x, y, z, right, below);
    } else {
        out[i] = across;
        out[n + i] = step;
    }
    out[2 * n + i] = texCubemapLayeredGrad<float>(several, x, y, z, i % 3, below, right);
}
