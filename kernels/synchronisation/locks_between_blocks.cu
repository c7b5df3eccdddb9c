// Data behind locks that threads of all blocks contend for.

__device__ void lock(unsigned *word) {
    while (atomicCAS(word, 0, 1) != 0)
        __nanosleep(40);
    __threadfence();
}

__device__ void unlock(unsigned *word) {
    __threadfence();
    atomicExch(word, 0);
}

// Transfers between accounts, both locked in rising order. What each holds in the end does not depend
// on the order of transfers.
extern "C" __global__ void transfers(unsigned *locks, volatile int *balances, int accounts, int rounds) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < rounds; ++round) {
        unsigned from = (i * 7 + round * 13) % accounts;
        unsigned to = (from + 1 + (i + round) % (accounts - 1)) % accounts;
        int amount = (i * 31 + round * 17) % 100;
        unsigned low = from < to ? from : to, high = from < to ? to : from;
        lock(&locks[low]);
        lock(&locks[high]);
        balances[from] = balances[from] - amount;
        balances[to] = balances[to] + amount;
        unlock(&locks[high]);
        unlock(&locks[low]);
    }
}

// A list that threads of all blocks push to and pop from under one lock; at the end it is empty and
// every node was taken once.
extern "C" __global__ void linked_list(unsigned *word, volatile unsigned *head, volatile unsigned *next,
                                       unsigned *taken, int rounds) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned threads = gridDim.x * blockDim.x;
    for (int round = 0; round < rounds; ++round) {
        unsigned node = 1 + round * threads + i;
        lock(word);
        next[node] = *head;
        *head = node;
        unlock(word);
        lock(word);
        unsigned first = *head;
        *head = next[first];
        next[first] = 0;
        unlock(word);
        atomicAdd(&taken[first], 1);
    }
}
