/* A program whose loops ask the environment for their schedule; iterations get longer and longer. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** words) {
    long work = count > 1 ? atol(words[1]) : 2000;
    double sum = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
    for (long i = 0; i < 400; ++i) {
        double x = 1.0 + (double)i;
        for (long step = 0; step < work * i / 200; ++step) x = x * 0.999999 + 1e-6;
        sum += x;
    }
    printf("%.4f\n", sum);
    return 0;
}
