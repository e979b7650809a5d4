#include "ledger.hpp"

#include <stdexcept>
#include <string>

namespace tauto::sim {

void ledger::advance(nanoseconds at) {
    if (at < now_) throw std::logic_error("virtual time went backwards");
    total_ = energy_until(at);
    now_ = at;
}

std::int64_t ledger::energy_until(nanoseconds at) const {
    std::int64_t energy = 0;
    if (__builtin_mul_overflow(drawn_, at - now_, &energy) || __builtin_add_overflow(energy, total_, &energy))
        throw input_error(
            "the machine draws more than 9.2 MJ, beyond which energy is not counted; give it fewer cores or "
            "watts, or less to do");
    return energy;
}

void ledger::settle(actor_id member, nanoseconds at) {
    account& own = accounts_[member];
    const nanoseconds length = at - own.since;
    own.spent[static_cast<std::size_t>(own.what)] += length;
    own.picojoules += own.milliwatts * length;
    if (keep_slices_ && length > 0 && slices_.size() < most_slices)
        slices_.push_back({member, own.what, own.since, at, own.milliwatts});
    own.since = at;
}

void ledger::enter(actor_id member, activity what, std::int64_t milliwatts, nanoseconds at) {
    account& own = accounts_[member];
    if (own.what == what && own.milliwatts == milliwatts) return;
    advance(at);
    settle(member, at);
    drawn_ += milliwatts - own.milliwatts;
    own.what = what;
    own.milliwatts = milliwatts;
}

void ledger::set_base(std::int64_t milliwatts, nanoseconds at) {
    if (milliwatts == base_) return;
    advance(at);
    base_energy_ += base_ * (at - base_since_);
    base_since_ = at;
    drawn_ += milliwatts - base_;
    base_ = milliwatts;
}

void ledger::close(nanoseconds at) {
    advance(at);
    base_energy_ += base_ * (at - base_since_);
    base_since_ = at;
    for (std::size_t member = 0; member < accounts_.size(); ++member)
        settle(static_cast<actor_id>(member), at);
}

nanoseconds ledger::total(activity what) const noexcept {
    nanoseconds sum = 0;
    for (const account& own : accounts_) sum += own.spent[static_cast<std::size_t>(what)];
    return sum;
}

void ledger::check() const {
    std::int64_t energy = base_energy_;
    for (const account& own : accounts_) {
        energy += own.picojoules;
        if (own.spent[0] + own.spent[1] + own.spent[2] != now_)
            throw std::logic_error("a member's times do not add up to the run's");
    }
    if (energy != total_)
        throw std::logic_error("the energies add up to " + std::to_string(energy) + " pJ, the machine drew " +
                               std::to_string(total_) + " pJ");
}

}  // namespace tauto::sim
