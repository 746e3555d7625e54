/* Counts the primes below a limit with OpenMP; prints its own time, the count and the number of threads.
   gcc -O2 -fopenmp primes.c -o primes && OMP_NUM_THREADS=2 ./primes 3000000 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int is_prime(long n) {
    if (n < 4) return n > 1;
    if (n % 2 == 0) return 0;
    for (long d = 3; d * d <= n; d += 2)
        if (n % d == 0) return 0;
    return 1;
}

int main(int argc, char **argv) {
    long limit = argc > 1 ? atol(argv[1]) : 1000000, count = 0;
    double start = omp_get_wtime();
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (long n = 2; n < limit; n++) count += is_prime(n);
    printf("elapsed: %.6f s\nprimes: %ld\nthreads: %d\n", omp_get_wtime() - start, count, omp_get_max_threads());
    return 0;
}
