#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "balance/watch.hpp"

namespace tauto::balance {

namespace {

constexpr int fields_between = 36;  // from the state to the CPU in /proc/PID/stat

std::string folder_of(pid_t process, pid_t thread) {
    return "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread);
}

class open_file {
  public:
    explicit open_file(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    ~open_file() {
        if (file_ >= 0) close(file_);
    }
    open_file(const open_file&) = delete;
    open_file& operator=(const open_file&) = delete;

    // From its beginning; empty if the thread has ended.
    std::string_view read() {
        const ssize_t got = file_ < 0 ? -1 : pread(file_, text_.data(), text_.size() - 1, 0);
        const std::size_t length = got < 0 ? 0 : static_cast<std::size_t>(got);
        text_[length] = '\0';
        return {text_.data(), length};
    }

  private:
    int file_;
    std::array<char, 1024> text_{};
};

std::optional<change> understand(std::string_view stat) {
    const std::size_t name_end = stat.rfind(") ");  // the name may itself have brackets
    if (name_end == stat.npos || name_end + 2 >= stat.size()) return {};
    const char state = stat[name_end + 2];
    if (state == 'Z' || state == 'X') return {};
    std::size_t at = name_end + 2;
    for (int field = 0; field < fields_between && at != stat.npos; ++field) at = stat.find(' ', at + 1);
    if (at == stat.npos) return {};
    return change{timer::now(), state == 'R' ? doing::runs : doing::sleeps, atoi(stat.data() + at + 1)};
}

class files : public watch {
  public:
    files(pid_t process, pid_t thread)
        : stat_(folder_of(process, thread) + "/stat"), schedstat_(folder_of(process, thread) + "/schedstat") {
        waited();
    }

    void read(news& into) override {
        const std::optional<change> found = understand(stat_.read());
        if (!found) {
            into.ended = true;
            return;
        }
        // It waited for a CPU meanwhile; when, is not told.
        const nanoseconds more = waited();
        if (more > 0 && last_ > 0 && last_ + more < found->at) {
            into.changes.push_back({last_, doing::waits, found->cpu});
            into.changes.push_back({last_ + more, doing::runs, found->cpu});
        }
        into.changes.push_back(*found);
        last_ = found->at;
    }

  private:
    // Nanoseconds since the last call.
    nanoseconds waited() {
        const std::string_view text = schedstat_.read();
        const std::size_t second = text.find(' ');
        if (second == text.npos) return 0;
        const nanoseconds all = atoll(text.data() + second);
        return all - std::exchange(waited_, all);
    }

    open_file stat_;
    open_file schedstat_;
    nanoseconds waited_ = 0;
    nanoseconds last_ = 0;
};

}  // namespace

std::unique_ptr<watch> watch_files(pid_t process, pid_t thread) {
    return std::make_unique<files>(process, thread);
}

std::optional<change> state_of(pid_t process, pid_t thread) {
    open_file file(folder_of(process, thread) + "/stat");
    return understand(file.read());
}

}  // namespace tauto::balance
