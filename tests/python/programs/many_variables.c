// A parallel region whose code shares more variables with what is around it than the library passes on.
#include <stdio.h>

#define TEN(X, D) X(D##0) X(D##1) X(D##2) X(D##3) X(D##4) X(D##5) X(D##6) X(D##7) X(D##8) X(D##9)
#define ALL(X) TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5) TEN(X, 6) TEN(X, 7) TEN(X, 8)
#define DEFINE(N) volatile long v##N = N;
#define ADD(N) sum += v##N;
#define RAISE(N) v##N += 1;

int main(void) {
    ALL(DEFINE)
    TEN(DEFINE, 9)
    long total = 0;
#pragma omp parallel num_threads(2) reduction(+ : total)
    {
        long sum = 0;
        ALL(ADD)
        TEN(ADD, 9)
        total += sum;
    }
#pragma omp parallel num_threads(1)
    {
        ALL(RAISE)
    }
    long few = 0;
#pragma omp parallel num_threads(2) reduction(+ : few)
    few += v10 + v89 + v99;
    printf("%ld %ld\n", total, few);
    return 0;
}
