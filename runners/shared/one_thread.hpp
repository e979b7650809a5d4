#pragma once
// The calling thread alone, without a runtime. For the serial runners.

#include <string>

#include "runners/shared/options.hpp"

namespace tauto::runner {

class one_thread {
  public:
    static description describe() {
        description serial;
        serial.runtime = "serial";
        serial.schedules = {{"serial", false}};
        serial.most_threads = 1;
        return serial;
    }

    std::string diagnosis() const { return "it has the calling thread only"; }
};

}  // namespace tauto::runner
