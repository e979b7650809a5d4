#include "runners/power/request.hpp"

#include <string>

#include "runners/shared/error.hpp"
#include "runners/shared/memory.hpp"
#include "runners/shared/signed.hpp"

namespace tauto::runner {

void require_threads(const options& asked) {
    if (asked.schedule == "serial" && asked.threads != 1)
        throw input_error("schedule 'serial' takes one thread, and --threads is " +
                          std::to_string(asked.threads) + "; use --threads 1");
    if (asked.schedule == "functional" && asked.threads != 2)
        throw input_error("schedule 'functional' has two functions, and --threads is " +
                          std::to_string(asked.threads) + "; use --threads 2");
}

void require_memory_for(std::int64_t bytes) {
    constexpr double copies = 3.0;
    require_memory(copies * as_double(bytes), std::to_string(bytes) + " bytes of data",
                   [](double there) { return "use --bytes up to about " + whole_number(there / copies); });
}

}  // namespace tauto::runner
