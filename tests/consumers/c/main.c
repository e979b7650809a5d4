#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tauto.h>

enum { COUNT = 100000 };

typedef struct city {
    char name[12];
    int inhabitants;
} city;

static void take_roots(void* context, int64_t begin, int64_t end) {
    double* const roots = context;
    for (int64_t i = begin; i < end; ++i) roots[i] = sqrt((double)i);
}

static int fewer_inhabitants(const void* left, const void* right, void* context) {
    const int a = ((const city*)left)->inhabitants;
    const int b = ((const city*)right)->inhabitants;
    (void)context;
    return (a > b) - (a < b);
}

int main(void) {
    tauto_team* team;
    double* const roots = malloc(COUNT * sizeof *roots);
    if (roots == NULL || tauto_team_create(NULL, &team) != TAUTO_OK) {
        fprintf(stderr, "no team: %s\n", tauto_message());
        return 1;
    }
    if (tauto_parallel_for(team, 0, COUNT, take_roots, roots, NULL) != TAUTO_OK) return 1;
    for (int64_t i = 0; i < COUNT; ++i) {
        if (roots[i] != sqrt((double)i)) return 1;
    }

    tauto_options options = TAUTO_OPTIONS;
    options.schedule = TAUTO_GUIDED;
    double sum;
    if (tauto_exact_sum(team, roots, COUNT, &sum, &options) != TAUTO_OK) return 1;

    city cities[] = {{"Ulm", 129}, {"Jena", 111}, {"Trier", 111}};
    if (tauto_stable_sort(team, cities, 3, sizeof *cities, fewer_inhabitants, NULL, NULL) != TAUTO_OK)
        return 1;
    if (strcmp(cities[0].name, "Jena") != 0 || strcmp(cities[1].name, "Trier") != 0) return 1;

    if (tauto_exact_sum(team, roots, -1, &sum, NULL) != TAUTO_REFUSED) return 1;
    printf("%d roots on %d members, their sum is %.3f; %s\n", COUNT, tauto_team_size(team), sum,
           tauto_message());
    tauto_team_destroy(team);
    free(roots);
    return 0;
}
