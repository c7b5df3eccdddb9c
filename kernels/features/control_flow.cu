// Divergent control flow: loops with break and continue, a switch, calls, recursion, a call through a
// pointer, arrays in local memory.

__device__ __noinline__ unsigned collatz(unsigned value) {
    unsigned steps = 0;
    while (value != 1) {
        if (steps >= 60) {
            break;
        }
        steps++;
        if (value & 1) {
            value = 3 * value + 1;
            continue;
        }
        value /= 2;
    }
    return steps;
}

__device__ __noinline__ unsigned fibonacci(unsigned n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ unsigned choose(unsigned which, unsigned value) {
    switch (which) {
    case 0: return value + 17;
    case 1: return value * 29;
    case 2: return value ^ 0x5a5a;
    case 3: return value - collatz(value % 100 + 1);
    case 4: return value >> 3;
    case 5: return ~value;
    case 6: return value / 11;
    case 7: return value << 5 | value >> 27;
    case 8: return value % 1009;
    default: return 0;
    }
}

__device__ __noinline__ unsigned twice(unsigned value) {
    return 2 * value;
}

__device__ __noinline__ unsigned squared(unsigned value) {
    return value * value;
}

__device__ unsigned (*const functions[2])(unsigned) = {twice, squared};

extern "C" __global__ void control_flow(const unsigned *in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned value = in[i];
    int row = 0;
    auto put = [&](unsigned result) { out[row++ * n + i] = result; };

    put(collatz(value % 1000 + 1));
    put(fibonacci(value % 9));
    put(choose(value % 10, value));
    put(functions[value >> 4 & 1](value));

    // A small sort in local memory, by insertion.
    unsigned keys[12];
    for (int k = 0; k < 12; k++) {
        keys[k] = value * (2 * k + 1) >> (k & 3);
    }
    unsigned used = value % 12 + 1;
    for (unsigned k = 1; k < used; k++) {
        unsigned key = keys[k];
        int at = k;
        while (at > 0 && keys[at - 1] > key) {
            keys[at] = keys[at - 1];
            at--;
        }
        keys[at] = key;
    }
    unsigned hash = 0;
    for (unsigned k = 0; k < used; k++) {
        hash = hash * 31 + keys[k];
    }
    put(hash);

    // Nested loops that leave at different depths.
    unsigned found = 0xffffffffu;
    for (unsigned x = 1; x < 20 && found == 0xffffffffu; x++) {
        for (unsigned y = x; y < 20; y++) {
            if ((x * x + y * y) % 97 == value % 97) {
                found = x * 100 + y;
                break;
            }
            if ((x + y) % 23 == value % 23) {
                break;
            }
        }
    }
    put(found);
}
