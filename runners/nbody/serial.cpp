// The nbody study's reference: one thread, no runtime.

#include "runners/nbody/member.hpp"
#include "runners/shared/one_thread.hpp"

namespace {

using namespace tauto::runner;

class serial_adapter : public one_thread {
  public:
    static constexpr std::string_view executable = "tauto-nbody-serial";

    explicit serial_adapter(const nbody_request&) {}

    nbody_pass run(const nbody_start& start, const nbody_request& asked, work_account& account) {
        tauto::solo me;
        return member_pass(me, start, asked, account);
    }

    bool repeats_bits() const { return true; }
};

}  // namespace

int main(int argc, char** argv) {
    return run_nbody<serial_adapter>(argc, argv);
}
