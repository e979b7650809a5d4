// The readers of the executables, for tests/python/fuzzing.py, with damaged inputs.
//
//   tauto-readers profile|simulator|trap SEED FIRST COUNT SECONDS LIMIT
//
// Standard input holds two lists, the words of interest and the right inputs. A list is its length and its
// texts, a text is its length and its bytes; lengths are four bytes of this machine's order. Input number n
// is made of SEED and n alone; the right inputs come first. For each input that a reader takes wrongly there
// is a line, at the end one with how many there were: "input 7 throws …", "1000 inputs". A reader that
// crashes or hangs ends the process, with the number of its input. `trap` is a reader with three faults.

#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "command/profile.hpp"
#include "rows.hpp"

namespace {

void profile(const std::string& input) {
    const tauto::command::profile read = tauto::command::parse_profile(input, "profile.json");
    (void)tauto::command::distrusted(read);
    (void)tauto::command::joined(tauto::command::command_of(read, {"true"}, "profile.json"));
}

void simulator(const std::string& input) {
    std::istringstream requests(input);
    std::ostringstream rows;
    tauto::sim::answer(requests, rows);
}

void trap(const std::string& input) {
    const std::string_view seen(input);
    if (seen.find("nan") != seen.npos) throw std::runtime_error("a number that is none");
    if (seen.find("$(") != seen.npos) std::abort();
    if (seen.find("../") != seen.npos)
        for (volatile bool hangs = true; hangs;) {
        }
}

std::string outcome(void (*reader)(const std::string&), const std::string& input) {
    try {
        reader(input);
        return "taken";
    } catch (const tauto::command::input_error&) {
        return "refused";
    } catch (const tauto::sim::input_error&) {
        return "refused";
    } catch (const std::bad_alloc&) {
        return "takes too much memory";
    } catch (const std::exception& error) {
        return std::string("throws ") + error.what();
    }
}

std::uint64_t current = 0;  // the number of the input that is read

// Async-signal-safe: says which input ends the process.
void say_which(int number) {
    std::array<char, 32> text{};
    std::size_t begin = text.size();
    text[--begin] = '\n';
    std::uint64_t left = current;
    do {
        text[--begin] = static_cast<char>('0' + left % 10);
        left /= 10;
    } while (left > 0);
    const bool said = write(STDOUT_FILENO, "ended at ", 9) > 0 &&
                      write(STDOUT_FILENO, text.data() + begin, text.size() - begin) > 0;
    static_cast<void>(said);  // there is nobody else to tell
    std::signal(number, SIG_DFL);
    raise(number);
}

void watch_signals() {
    static std::array<char, 1 << 16> room;  // for a stack that is full
    stack_t stack{};
    stack.ss_sp = room.data();
    stack.ss_size = room.size();
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_handler = say_which;
    action.sa_flags = SA_ONSTACK;
    for (const int number : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS, SIGPROF})
        sigaction(number, &action, nullptr);
}

std::uint32_t read_length() {
    std::uint32_t length = 0;
    std::cin.read(reinterpret_cast<char*>(&length), sizeof length);
    return length;
}

std::vector<std::string> read_texts() {
    std::vector<std::string> texts(read_length());
    for (std::string& text : texts) {
        text.resize(read_length());
        std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
    }
    return texts;
}

// Damages right inputs as fuzzing.py does.
class damage {
  public:
    damage(std::vector<std::string> words, std::vector<std::string> right, std::uint64_t seed)
        : words_(std::move(words)), right_(std::move(right)), seed_(seed) {}

    std::string input(std::uint64_t number) {
        if (number < right_.size()) return right_[number];
        std::seed_seq seeds{seed_ >> 32, seed_ & 0xffffffff, number >> 32, number & 0xffffffff};
        chance_.seed(seeds);
        std::string data = one_of(right_);
        for (std::size_t changes = 1 + below(6); changes > 0; --changes) change(data);
        return data;
    }

  private:
    std::size_t below(std::size_t limit) { return limit == 0 ? 0 : chance_() % limit; }

    template <class T>
    const T& one_of(const std::vector<T>& all) {
        return all[below(all.size())];
    }

    void change(std::string& data) {
        const std::size_t at = below(data.size() + 1);
        switch (below(7)) {
            case 0:
                if (at < data.size()) data[at] = static_cast<char>(data[at] ^ (1 << below(8)));
                break;
            case 1:
                if (at < data.size()) data[at] = "\x00\x01\x7f\x80\xff"[below(5)];
                break;
            case 2:
                data.insert(at, one_of(words_));
                break;
            case 3:
                data.erase(at, std::array{std::size_t{1}, std::size_t{8}, data.size() / 2}[below(3)]);
                break;
            case 4:
                data.insert(at, data.substr(at, std::array{8, 64, 512}[below(3)]));
                break;
            case 5: {
                const std::string& word = one_of(words_);
                data.replace(at, std::min(word.size(), data.size() - at), word);
                break;
            }
            default: {
                const std::string& other = one_of(right_);
                data.replace(at, std::min<std::size_t>(64, data.size() - at),
                             other.substr(below(other.size() + 1), 64));
            }
        }
    }

    std::vector<std::string> words_;
    std::vector<std::string> right_;
    std::uint64_t seed_;
    std::minstd_rand chance_;
};

}  // namespace

int main(int count, char** values) {
    const std::string_view name = count == 7 ? values[1] : "";
    void (*reader)(const std::string&) = name == "profile" ? profile : name == "simulator" ? simulator : trap;
    if (reader == trap && name != "trap") return 2;
    const std::uint64_t first = std::stoull(values[3]);
    const std::uint64_t last = first + std::stoull(values[4]);
    const auto ends = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::stod(values[5]));
    std::vector<std::string> words = read_texts();
    damage inputs(std::move(words), read_texts(), std::stoull(values[2]));
    if (!std::cin) return 2;
    watch_signals();
    for (current = first; current < last && std::chrono::steady_clock::now() < ends; ++current) {
        const std::string input = inputs.input(current);
        const itimerval limit{{0, 0}, {std::stol(values[6]), 0}};
        setitimer(ITIMER_PROF, &limit, nullptr);
        std::string said = outcome(reader, input);
        if (said == "taken" || said == "refused") continue;
        std::replace(said.begin(), said.end(), '\n', ' ');
        std::cout << "input " << current << ' ' << said << std::endl;
    }
    std::cout << current - first << " inputs" << std::endl;
    return 0;
}
