/* A program with static OpenMP loops, as people write them: static_loop ROUNDS WORK prints its sum. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** words) {
    long rounds = count > 1 ? atol(words[1]) : 20;
    long work = count > 2 ? atol(words[2]) : 20000;
    double total = 0;
    for (long round = 0; round < rounds; ++round) {
        double sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (long i = 0; i < 480; ++i) {
            double x = 1.0 + (double)i;
            for (long step = 0; step < work; ++step) x = x * 0.999999 + 1e-6;
            sum += x;
        }
        total += sum;
    }
    printf("%.4f\n", total);
    return 0;
}
