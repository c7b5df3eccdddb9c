// One fetch of every kind, each into a row of its own of the result.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

extern "C" __global__ void layers(cudaTextureObject_t lines, cudaTextureObject_t planes, float *out) {
    int i = threadIdx.x;
    int n = blockDim.x;
    float at = fmaf((float)i, 0.046875f, -0.25f);
    // Layers beyond the last one count as the last one.
    out[i] = tex1DLayered<float>(lines, at, i % 4);
    out[n + i] = tex2DLayered<float>(planes, at, at, i % 5);
}

extern "C" __global__ void cubes(cudaTextureObject_t cube, cudaTextureObject_t several, float *out) {
    int i = threadIdx.x;
    int n = blockDim.x;
    // The longest component is 1 or -1, on each axis in turn.
    float s = fmaf((float)(i % 7), 0.3125f, -0.9375f);
    float t = fmaf((float)(i % 5), 0.4375f, -0.875f);
    float one = i % 2 ? -1.0f : 1.0f;
    int axis = i % 3;
    float x = axis == 0 ? one : s;
    float y = axis == 1 ? one : axis == 0 ? s : t;
    float z = axis == 2 ? one : t;
    out[i] = texCubemap<float>(cube, x, y, z);
    out[n + i] = texCubemapLayered<float>(several, x, y, z, i % 3);
}

extern "C" __global__ void details(cudaTextureObject_t image, float *out) {
    int i = threadIdx.x;
    int n = blockDim.x;
    float at = fmaf((float)i, 0.015625f, 0.0625f);
    float level = fmaf((float)i, 0.078125f, -0.5f);
    out[i] = tex2DLod<float>(image, at, at, level);
    // 2^-k texels of level 0 to the right, half of that down.
    float step = 0.0625f * (float)(1 << (i % 5));
    out[n + i] = tex2DGrad<float>(image, at, at, make_float2(step, 0), make_float2(0, step * 0.5f));
    out[2 * n + i] = tex2D<float>(image, at, at);
}

extern "C" __global__ void fetches(cudaTextureObject_t line, cudaTextureObject_t words, float *out,
                                   int *integers, int count) {
    int i = threadIdx.x;
    // Some lie beyond the end: zero.
    for (int k = i; k < count; k += blockDim.x) {
        short2 pair = tex1Dfetch<short2>(words, k);
        integers[2 * k] = pair.x;
        integers[2 * k + 1] = pair.y;
        out[k] = tex1Dfetch<float>(line, k ^ 5);
    }
}

// Neighbouring threads sample different textures; a block's handle is the same for all of it.
extern "C" __global__ void handles(cudaTextureObject_t a, cudaTextureObject_t b, cudaTextureObject_t c,
                                   float *out) {
    int i = threadIdx.x;
    int n = blockDim.x;
    cudaTextureObject_t all[3] = {a, b, c};
    cudaTextureObject_t mine = i % 3 == 0 ? a : i % 3 == 1 ? b : c;
    cudaTextureObject_t common = all[blockIdx.x % 3];
    float at = (float)(i % 8) + 0.5f;
    out[blockIdx.x * 2 * n + i] = tex2D<float>(mine, at, (float)(i / 8 % 4) + 0.5f);
    out[blockIdx.x * 2 * n + n + i] = tex2D<float>(common, at, 1.5f);
}

// Packed halves, texel offsets and integer coordinates, which only PTX has names for.
extern "C" __global__ void packed(cudaTextureObject_t image, unsigned *halves, float4 *moved,
                                  float4 *indexed) {
    int i = threadIdx.x;
    float x = (float)(i % 8) + 0.5f, y = (float)(i / 8) + 0.5f;
    unsigned low, high;
    asm volatile("tex.2d.v2.f16x2.f32 {%0, %1}, [%2, {%3, %4}];"
                 : "=r"(low), "=r"(high)
                 : "l"(image), "f"(x), "f"(y));
    halves[2 * i] = low;
    halves[2 * i + 1] = high;
    float4 v;
    asm volatile("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}], {%7, %8};"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(image), "f"(x), "f"(y), "r"(-2), "r"(3));
    moved[i] = v;
    asm volatile("tex.2d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(image), "r"(i % 11 - 1), "r"(i / 8));
    indexed[i] = v;
}
