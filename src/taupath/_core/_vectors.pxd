"""Loops for the processor that runs them.

A loop is compiled for several processors where the compiler can; results do not depend on which.
`eight` doubles are one operation where processors have it.
"""

cdef extern from *:
    """
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
    #define FOR_EVERY_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
    #else
    #define FOR_EVERY_PROCESSOR
    #endif

    #if defined(__GNUC__) || defined(__clang__)
    #define WITH_EIGHT 1
    typedef double eight __attribute__((vector_size(64), aligned(8)));
    #define EIGHT(address) (*(const eight*) (address))
    #define ADDED_UP(a) (((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7])))
    #else
    #define WITH_EIGHT 0
    #endif
    """
