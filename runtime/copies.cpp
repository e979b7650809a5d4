#include "copies.hpp"

#include <link.h>
#include <sched.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>

#include <tauto/signed.hpp>

#include "forks.hpp"

// The format of the answer is part of the note's type.
extern "C" [[gnu::used, gnu::visibility("hidden")]] void tauto_answer_other_copy(
    pid_t thread, int only_cpu, tauto::detail::pin_elsewhere* answer) noexcept {
    tauto::detail::answer_other_copy(thread, only_cpu, *answer);
}

// A distance, so that no relocation is left for the loader and the note may be read-only.
asm(".pushsection .note.tautochrone, \"a\", %note\n"
    ".balign 4\n"
    ".long 12\n"
    ".long 4\n"
    ".long 1\n"
    ".asciz \"tautochrone\"\n"
    ".long tauto_answer_other_copy - .\n"
    ".popsection\n");

namespace tauto::detail {
namespace {

constexpr std::size_t bits_of_word = 8 * sizeof(unsigned long);

using answering = void (*)(pid_t thread, int only_cpu, pin_elsewhere* answer) noexcept;

struct found_copies {
    std::array<answering, 16> answers{};
    std::size_t count = 0;
};

void look_through_notes(std::span<const char> notes, std::size_t alignment, found_copies& found) {
    constexpr char name[] = "tautochrone";
    const auto aligned = [&](std::size_t size) { return (size + alignment - 1) / alignment * alignment; };
    ElfW(Nhdr) head;
    while (notes.size() >= sizeof head) {
        std::memcpy(&head, notes.data(), sizeof head);
        const std::size_t content = sizeof head + aligned(head.n_namesz);
        const std::size_t end = content + aligned(head.n_descsz);
        if (end > notes.size()) return;
        const char* const distance_at = notes.data() + content;
        std::int32_t distance = 0;
        if (head.n_type == 1 && head.n_namesz == sizeof name && head.n_descsz == sizeof distance &&
            std::memcmp(notes.data() + sizeof head, name, sizeof name) == 0) {
            std::memcpy(&distance, distance_at, sizeof distance);
            const auto function =
                reinterpret_cast<answering>(reinterpret_cast<std::intptr_t>(distance_at) + distance);
            if (function != &tauto_answer_other_copy && found.count < found.answers.size())
                found.answers[found.count++] = function;
        }
        notes = notes.subspan(end);
    }
}

int look_into(dl_phdr_info* object, std::size_t, void* into) {
    for (const auto& part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
        if (part.p_type != PT_NOTE) continue;
        const auto* const begin = reinterpret_cast<const char*>(object->dlpi_addr + part.p_vaddr);
        look_through_notes({begin, part.p_memsz}, part.p_align == 8 ? 8 : 4,
                           *static_cast<found_copies*>(into));
    }
    return 0;
}

}  // namespace

void set_cpu(plain_mask& mask, int cpu) noexcept {
    if (usize(cpu) / bits_of_word < mask.size())
        mask[usize(cpu) / bits_of_word] |= 1UL << usize(cpu) % bits_of_word;
}

void set_cpus(plain_mask& mask, const std::vector<int>& cpus) noexcept {
    mask.fill(0);
    for (const int cpu : cpus) set_cpu(mask, cpu);
}

std::vector<int> cpus_of(const plain_mask& mask) {
    std::vector<int> cpus;
    for (std::size_t cpu = 0; cpu < mask.size() * bits_of_word; ++cpu) {
        if ((mask[cpu / bits_of_word] >> cpu % bits_of_word & 1) != 0) cpus.push_back(static_cast<int>(cpu));
    }
    return cpus;
}

int confine(pid_t thread, const plain_mask& mask) noexcept {
    const auto* const set = reinterpret_cast<const cpu_set_t*>(mask.data());
    return sched_setaffinity(thread, sizeof mask, set) == 0 ? 0 : errno;
}

bool is_static(const void* object) noexcept {
    const auto holds = [](dl_phdr_info* loaded, std::size_t, void* wanted) {
        const auto address = reinterpret_cast<std::uintptr_t>(wanted);
        for (const auto& part : std::span(loaded->dlpi_phdr, loaded->dlpi_phnum)) {
            const std::uintptr_t begin = loaded->dlpi_addr + part.p_vaddr;
            if (part.p_type == PT_LOAD && address >= begin && address - begin < part.p_memsz) return 1;
        }
        return 0;
    };
    const std::lock_guard lock(locks_of_process().copies);  // see ask_other_copies
    return dl_iterate_phdr(holds, const_cast<void*>(object)) != 0;
}

pin_elsewhere ask_other_copies(pid_t thread, int only_cpu) noexcept {
    found_copies others;
    {
        // The loader has a lock of its own while it shows its objects. A child of fork would keep it for
        // ever.
        const std::lock_guard lock(locks_of_process().copies);
        dl_iterate_phdr(&look_into, &others);
    }
    pin_elsewhere answer;
    for (const answering ask : std::span(others.answers).first(others.count)) {
        pin_elsewhere one;
        ask(thread, only_cpu, &one);
        if (one.who == &locks_of_process()) continue;
        if (one.known && (!answer.known || one.cpu >= 0)) answer = one;
    }
    return answer;
}

}  // namespace tauto::detail
