#pragma once
// Where in a program an address of one of its processes is. The system loads the same file at another address
// in each process; ranks of one program are at the same place all the same.

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "timer/clock.hpp"

namespace tauto::balance {

using timer::nanoseconds;

struct code_place {
    std::uint64_t program = 0;  // the file that the process executes
    std::uint64_t file = 0;     // in which the code is, a library perhaps
    std::uint64_t line = 0;     // of the cache, from its beginning: a loop has few
    auto operator<=>(const code_place&) const = default;
};

class code {
  public:
    code_place of(pid_t process, std::uint64_t address);
    void forget() { known_.clear(); }

    // A part of a file that is executable in a process' memory.
    struct part {
        std::uint64_t begin, end, offset, file;
    };
    // From the text of /proc/PID/maps, in the order of addresses.
    static std::vector<part> parts(std::string_view maps);

  private:
    struct layout {
        std::uint64_t program = 0;
        std::vector<part> parts;
        nanoseconds read = 0;
    };
    std::map<pid_t, layout> known_;
};

}  // namespace tauto::balance
