// Compiled alone: the header brings no other function that is called index, as <cstring> does.

#include <tauto/mpi.hpp>

using namespace tauto;

index next(index i) {
    return i + 1;
}
