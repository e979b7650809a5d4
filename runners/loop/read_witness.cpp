#include "runners/loop/read_witness.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "runners/shared/signed.hpp"

namespace tauto::runner {

namespace {

constexpr std::size_t max_pieces = 1024;

struct note {
    std::atomic<int> thread{0};  // kernel thread id of the first reader; 0: not read
    std::atomic<int> cpu{-1};
};

// A signal handler reaches nothing but statics.
std::uintptr_t begin_address, end_address;
std::size_t piece_bytes;
std::array<note, max_pieces> notes;
struct sigaction handler_before;

void on_fault(int signal, siginfo_t* information, void*) {
    const auto address = reinterpret_cast<std::uintptr_t>(information->si_addr);
    if (address < begin_address || address >= end_address) {
        // Somebody's real fault: it happens again on return and then takes its usual way.
        sigaction(signal, &handler_before, nullptr);
        return;
    }
    const std::size_t piece = (address - begin_address) / piece_bytes;
    int nobody = 0;
    if (notes[piece].thread.compare_exchange_strong(nobody, static_cast<int>(syscall(SYS_gettid))))
        notes[piece].cpu.store(sched_getcpu());
    const std::uintptr_t start = begin_address + piece * piece_bytes;
    mprotect(reinterpret_cast<void*>(start), std::min(piece_bytes, end_address - start),
             PROT_READ | PROT_WRITE);
}

}  // namespace

read_witness::read_witness(std::span<float> memory) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
    // Only pages that lie within: the others hold somebody else's data too.
    begin_address = (first + page - 1) / page * page;
    end_address = std::max(begin_address, (first + memory.size_bytes()) / page * page);
    piece_bytes = ((end_address - begin_address) / page / max_pieces + 1) * page;
    for (auto& note : notes) {
        note.thread.store(0);
        note.cpu.store(-1);
    }
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &handler_before);
    if (end_address > begin_address)
        mprotect(reinterpret_cast<void*>(begin_address), end_address - begin_address, PROT_NONE);
}

read_witness::~read_witness() {
    if (end_address > begin_address)
        mprotect(reinterpret_cast<void*>(begin_address), end_address - begin_address, PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &handler_before, nullptr);
}

std::vector<worker_share> read_witness::workers(std::size_t row_floats) const {
    std::map<int, int> number_of;
    std::map<std::pair<int, int>, double> bytes;
    for (const auto& note : notes) {
        if (note.thread.load() == 0) continue;
        const int number = number_of.try_emplace(note.thread.load(), int_size(number_of)).first->second;
        bytes[{number, note.cpu.load()}] += as_double(piece_bytes);
    }
    std::vector<worker_share> result;
    for (const auto& [who, amount] : bytes)
        result.push_back(
            {who.first, who.second, std::lround(amount / as_double(row_floats * sizeof(float)))});
    return result;
}

}  // namespace tauto::runner
