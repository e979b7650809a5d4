// The loop study's reference: one thread, no runtime.

#include "runners/common/run_loop.hpp"

namespace {

using namespace tauto::runner;

class serial_adapter {
  public:
    static constexpr std::string_view executable = "tauto-loop-serial";

    static description describe() {
        description serial;
        serial.runtime = "serial";
        serial.schedules = {{"serial", false}};
        serial.most_threads = 1;
        return serial;
    }

    static environment_changes environment(const options&) { return {}; }

    explicit serial_adapter(const options&) {}

    template <class Body>
    void for_rows(std::size_t n, Body&& body) {
        body(std::size_t{0}, n);
    }

    std::string diagnosis() const { return "it has the calling thread only"; }
};

}  // namespace

int main(int argc, char** argv) {
    return run_loop<serial_adapter>(argc, argv);
}
