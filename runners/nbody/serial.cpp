// The nbody study's reference: one thread, no runtime.

#include "runners/nbody_member.hpp"

namespace {

using namespace tauto::runner;

class serial_adapter {
  public:
    static constexpr std::string_view executable = "tauto-nbody-serial";

    static description describe() {
        description serial;
        serial.runtime = "serial";
        serial.schedules = {{"serial", false}};
        serial.most_threads = 1;
        return serial;
    }

    explicit serial_adapter(const nbody_request&) {}

    nbody_pass run(const nbody_start& start, const nbody_request& asked, work_account& account) {
        tauto::solo me;
        return member_pass(me, start, asked, account);
    }

    bool repeats_bits() const { return true; }

    std::string diagnosis() const { return "it has the calling thread only"; }
};

}  // namespace

int main(int argc, char** argv) {
    return run_nbody<serial_adapter>(argc, argv);
}
