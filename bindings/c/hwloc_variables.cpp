// What hwloc's archive uses of the C library's variables, where it is put into a shared library.

#include <cstdio>

extern "C" {

std::FILE* tauto_stdout = stdout;
std::FILE* tauto_stderr = stderr;
// Of the program; hwloc writes it into an exported topology, and nothing is exported here.
char* tauto_program_invocation_name = nullptr;

}  // extern "C"
