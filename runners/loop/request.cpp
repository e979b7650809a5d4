#include "runners/loop/request.hpp"

#include <cmath>

#include "kernels/toeplitz.hpp"
#include "runners/shared/command_line.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/memory.hpp"
#include "runners/shared/signed.hpp"

namespace tauto::runner {

std::string_view name_of(kernel chosen) noexcept {
    return chosen == kernel::published ? "published" : "tuned";
}

loop_request parse_loop(int argc, char** argv, std::string_view executable, const description& runtime) {
    loop_request chosen;
    command_line line{"Conjugate gradients on a dense single-precision system, its product", "Rows",
                      executable, runtime, chosen};
    std::optional<std::int64_t> size;
    line.add("--size", size, "Unknowns: rows and columns of the matrix");
    line.add("--solution-iterations", chosen.solution_iterations,
             "Iterations of a solve (default: until the residual is below 1e-5, at most 60)");
    line.add("--trace-loops", chosen.trace_file, "Write end time and seconds of every product to this file");
    std::string kernel_name{name_of(chosen.computes)};
    line.add("--kernel", kernel_name, "tuned, or published: one chain of additions a row");
    line.add("--account-seconds", chosen.account_seconds,
             "How long work and waiting are accounted for, untimed (default: one solve)");
    if (!line.parse(argc, argv)) return chosen;
    if (!size) throw input_error("--size is missing; give the number of unknowns, such as --size 2000");
    require_from_one("--size", size);
    chosen.size = *size;
    require_from_one("--solution-iterations", chosen.solution_iterations);
    if (kernel_name != name_of(kernel::tuned) && kernel_name != name_of(kernel::published))
        throw input_error("there is no kernel '" + kernel_name + "'; choose from tuned, published");
    chosen.computes = kernel_name == name_of(kernel::published) ? kernel::published : kernel::tuned;
    if (!(chosen.account_seconds >= 0.0) || !std::isfinite(chosen.account_seconds))
        throw input_error("--account-seconds must be a number, 0 or more");
    line.check();
    require_memory_for(as_double(chosen.size));
    return chosen;
}

void require_memory_for(double order) {
    require_memory(toeplitz_system::bytes(order), "a system of size " + whole_number(order),
                   [](double there) {
                       return "use --size up to about " +
                              whole_number(std::floor(std::sqrt(there / sizeof(float)) / 100.0) * 100.0);
                   });
}

}  // namespace tauto::runner
