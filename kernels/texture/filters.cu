// Image filters that read their input through textures.
#include <cuda_runtime.h>

// Resampling: the texture unit mixes four texels. Coordinates run beyond the image on all sides.
extern "C" __global__ void resize(cudaTextureObject_t image, float *out, int width, int height,
                                  float step_x, float step_y, float start) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        float u = fmaf((float)x, step_x, start);
        float v = fmaf((float)y, step_y, start);
        out[y * width + x] = tex2D<float>(image, u, v);
    }
}

// Mean of 3 x 3 texels of four channels; beyond the border they are zero.
extern "C" __global__ void box(cudaTextureObject_t image, float4 *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    float4 sum = make_float4(0, 0, 0, 0);
    for (int j = -1; j <= 1; j++) {
        for (int i = -1; i <= 1; i++) {
            float4 texel = tex2D<float4>(image, (float)(x + i) + 0.5f, (float)(y + j) + 0.5f);
            sum.x = __fadd_rn(sum.x, texel.x);
            sum.y = __fadd_rn(sum.y, texel.y);
            sum.z = __fadd_rn(sum.z, texel.z);
            sum.w = __fadd_rn(sum.w, texel.w);
        }
    }
    float share = 0.125f;
    out[y * width + x] = make_float4(__fmul_rn(sum.x, share), __fmul_rn(sum.y, share),
                                     __fmul_rn(sum.z, share), __fmul_rn(sum.w, share));
}

__device__ float spline(float a, float b, float c, float d, float t) {
    // Cubic B-spline, times 6, in Horner's form.
    float k3 = fmaf(3.0f, __fadd_rn(b, -c), __fadd_rn(d, -a));
    float k2 = fmaf(-6.0f, b, __fmul_rn(3.0f, __fadd_rn(a, c)));
    float k1 = __fmul_rn(3.0f, __fadd_rn(c, -a));
    float k0 = fmaf(4.0f, b, __fadd_rn(a, c));
    return fmaf(fmaf(fmaf(k3, t, k2), t, k1), t, k0);
}

// Bicubic magnification from 16 point samples.
extern "C" __global__ void bicubic(cudaTextureObject_t image, float *out, int width, int height,
                                   float scale) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    float u = fmaf((float)x, scale, -0.5f);
    float v = fmaf((float)y, scale, -0.5f);
    float i = floorf(u), j = floorf(v);
    float s = __fadd_rn(u, -i), t = __fadd_rn(v, -j);
    float rows[4];
    for (int r = 0; r < 4; r++) {
        float line = j + (float)(r - 1) + 0.5f;
        rows[r] = spline(tex2D<float>(image, i - 0.5f, line), tex2D<float>(image, i + 0.5f, line),
                         tex2D<float>(image, i + 1.5f, line), tex2D<float>(image, i + 2.5f, line), s);
    }
    out[y * width + x] = spline(rows[0], rows[1], rows[2], rows[3], t);
}

// Emission along a ray through a volume: density from a 3-D texture, colour from a 1-D texture.
extern "C" __global__ void march(cudaTextureObject_t volume, cudaTextureObject_t colours, float4 *out,
                                 int width, int height, int steps, float scale) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    float4 sum = make_float4(0, 0, 0, 0);
    for (int k = 0; k < steps; k++) {
        float density = tex3D<float>(volume, fmaf((float)x, scale, 0.25f), fmaf((float)y, scale, 0.5f),
                                     fmaf((float)k, scale, 0.125f));
        float4 colour = tex1D<float4>(colours, density);
        sum.x = fmaf(colour.x, colour.w, sum.x);
        sum.y = fmaf(colour.y, colour.w, sum.y);
        sum.z = fmaf(colour.z, colour.w, sum.z);
        sum.w = __fadd_rn(sum.w, colour.w);
    }
    out[y * width + x] = sum;
}

// Largest and smallest of the four texels around each corner, channel by channel.
extern "C" __global__ void extremes(cudaTextureObject_t image, float *least, float *most, int width,
                                    int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    for (int channel = 0; channel < 4; channel++) {
        float4 four = make_float4(0, 0, 0, 0);
        switch (channel) {
        case 0: four = tex2Dgather<float4>(image, (float)x, (float)y, 0); break;
        case 1: four = tex2Dgather<float4>(image, (float)x, (float)y, 1); break;
        case 2: four = tex2Dgather<float4>(image, (float)x, (float)y, 2); break;
        case 3: four = tex2Dgather<float4>(image, (float)x, (float)y, 3); break;
        }
        int at = (channel * height + y) * width + x;
        least[at] = fminf(fminf(four.x, four.y), fminf(four.z, four.w));
        most[at] = fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w));
    }
}
