// The spectrum of walsh reports, and its transform: the support of every name.
// The words are those of treetop.oracles.hashing; GOLDEN, FIRST and SECOND are its constants and CELL the type of a
// cell, given when compiled. A thread scatters one report: g additions, which meet in the card's cache. The transform takes
// one bit of the cells' numbers at a time: a card reads and writes all cells within microseconds.

typedef unsigned long long word;

static __device__ word mixed_word(word seed, word place)
{
    word mixed = seed + place * GOLDEN;
    mixed = (mixed ^ (mixed >> 30)) * FIRST;
    mixed = (mixed ^ (mixed >> 27)) * SECOND;
    return mixed ^ (mixed >> 31);
}

extern "C" __global__ void
walsh_scatter(const unsigned *seeds, const unsigned char *reported, word reports, unsigned parities, unsigned inside,
              CELL *sums)
{
    const word i = (word)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= reports) return;
    const word target = mixed_word(seeds[i], 1) ^ reported[i];
    unsigned masks[8];
    for (unsigned j = 0; j < 8; j++) masks[j] = j < parities ? (unsigned)mixed_word(seeds[i], j + 2) & inside : 0;
    unsigned cell = 0, sign = 0;
    atomicAdd(&sums[0], (CELL)1);
    for (unsigned k = 1; k < 1u << parities; k++) {  // Gray code: the k-th subset differs by the lowest bit set in k
        unsigned j = 0;
        while (!(k >> j & 1)) j++;
        cell ^= masks[j];
        sign ^= (unsigned)(target >> j) & 1;
        atomicAdd(&sums[cell], sign ? (CELL)-1 : (CELL)1);
    }
}

extern "C" __global__ void
walsh_transform(CELL *sums, word pairs, word half)
{
    const word i = (word)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs) return;
    const word low = i & (half - 1), place = ((i - low) << 1) | low;
    const CELL one = sums[place], two = sums[place + half];
    sums[place] = one + two;
    sums[place + half] = one - two;
}
