#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "balance/thread_stat.hpp"
#include "balance/watch.hpp"

namespace tauto::balance {

namespace {

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

std::optional<change> understand(std::string_view text) {
    const std::optional<thread_stat> found = read_stat(text);
    if (!found) return {};
    return change{timer::now(), found->state == 'R' ? doing::runs : doing::sleeps, found->cpu};
}

class files : public watch {
  public:
    files(pid_t process, pid_t thread)
        : stat_(folder_of(process, thread) + "/stat"), schedstat_(folder_of(process, thread) + "/schedstat") {
        used_ = use_so_far();
    }

    void read(news& into) override {
        const std::optional<change> found = understand(stat_.read());
        if (!found) {
            into.ended = true;
            return;
        }
        change told = *found;
        const use before = std::exchange(used_, use_so_far());
        told.ran = used_.ran - before.ran;
        const nanoseconds wanted = told.ran + used_.waited - before.waited;
        // It woke up since the last look; when, is not told: at the latest that can be.
        if (last_.now == doing::sleeps && told.ran > 0)
            into.changes.push_back({std::max(last_.at, told.at - wanted), doing::waits, told.cpu, 0});
        into.changes.push_back(told);
        last_ = told;
    }

  private:
    struct use {
        nanoseconds ran = 0;
        nanoseconds waited = 0;  // for a CPU
    };
    use use_so_far() {
        const std::string_view text = schedstat_.read();
        const std::size_t second = text.find(' ');
        if (second == text.npos) return used_;
        return {atoll(text.data()), atoll(text.data() + second)};
    }

    open_file stat_;
    open_file schedstat_;
    use used_;
    change last_{0, doing::sleeps, -1};
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
