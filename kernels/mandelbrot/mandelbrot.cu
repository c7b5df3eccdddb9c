// Escape times of the Mandelbrot set: lanes of a warp leave the loop at different trips.
extern "C" __global__ void mandelbrot(unsigned *trips, int width, int height, float left, float top,
                                      float step, unsigned most_trips) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    float c_real = fmaf((float)x, step, left);
    float c_imaginary = fmaf((float)y, step, top);
    float real = 0.0f;
    float imaginary = 0.0f;
    unsigned trip = 0;
    while (trip < most_trips) {
        float real_squared = __fmul_rn(real, real);
        float imaginary_squared = __fmul_rn(imaginary, imaginary);
        if (__fadd_rn(real_squared, imaginary_squared) > 4.0f) {
            break;
        }
        float twice_real = __fadd_rn(real, real);
        imaginary = fmaf(twice_real, imaginary, c_imaginary);
        real = __fadd_rn(__fsub_rn(real_squared, imaginary_squared), c_real);
        trip++;
    }
    trips[y * width + x] = trip;
}
