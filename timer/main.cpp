// tauto-timer: starts programs for the lab and times them.
//
// It is a process of its own, and a small one. The peak memory that the kernel reports for a program includes
// that of the process which started it. When the lab is killed, this sees its input end and takes the running
// program with it.
//
// It reads one request a line (JSON) and answers each with one line; request.hpp and answer.hpp say what is
// in them. The line `cancel`, or the end of the input, stops the program that runs.

#include <errno.h>
#include <unistd.h>

#include <exception>
#include <string_view>

#include "timer/answer.hpp"
#include "timer/guard.hpp"
#include "timer/inbox.hpp"
#include "timer/offspring.hpp"
#include "timer/request.hpp"
#include "timer/run.hpp"

namespace {

using namespace tauto::timer;

constexpr int exit_bad_input = 2;

void write_answer(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
        if (written < 0 && errno != EINTR) return;  // the lab is gone, and so is its input
        text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
}

void serve() {
    inbox from(STDIN_FILENO);
    run_executor executor(from, open_signals());
    while (!executor.told_to_end()) {
        const std::optional<std::string> line = from.next();
        if (line) {
            const request asked = parse_request(*line);
            write_answer(to_line(executor.run(asked)));
            if (from.ended()) remove_all({asked.remove.begin(), asked.remove.end()});
        }
        if (from.ended()) return;
        if (!line) executor.wait_for_input();
    }
}

}  // namespace

int main() {
    try {
        become_guarded();
        serve();
        return 0;
    } catch (const std::exception& error) {
        write_answer(to_error_line(error.what()));
        return exit_bad_input;
    }
}
