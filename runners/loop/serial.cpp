// The loop study's reference: one thread, no runtime.

#include "runners/loop/run.hpp"
#include "runners/shared/one_thread.hpp"

namespace {

using namespace tauto::runner;

class serial_adapter : public one_thread {
  public:
    static constexpr std::string_view executable = "tauto-loop-serial";

    explicit serial_adapter(const options&) {}

    template <class Body>
    void for_rows(std::size_t n, Body&& body) {
        body(std::size_t{0}, n);
    }
};

}  // namespace

int main(int argc, char** argv) {
    return run_loop<serial_adapter>(argc, argv);
}
