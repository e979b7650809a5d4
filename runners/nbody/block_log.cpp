#include "runners/nbody/block_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "runners/shared/error.hpp"
#include "runners/shared/signed.hpp"
#include "runtime/own_file.hpp"

namespace tauto::runner {

namespace {

constexpr std::string_view log_header = "time,active,scheme,width,predicted_seconds,seconds,shared_seconds\n";

// Files are written in pages of 4 KiB, or in larger ones that begin at multiples of it.
constexpr std::size_t page_bytes = 4096;
// Six numbers of at most 24 characters, the scheme, commas.
constexpr std::size_t most_line_bytes = 192;

// Appends lines to `text`, which will stand in a file behind `bytes_before` bytes.
void append_lines(std::string& text, std::size_t bytes_before, std::span<const block_sample> blocks) {
    std::ostringstream line;
    line.precision(17);
    for (const auto& block : blocks) {
        line.str({});
        line << block.time << ',' << block.active << ',' << block.scheme << ',' << block.width << ',';
        if (block.predicted_seconds > 0.0) line << block.predicted_seconds;
        line << ',' << block.seconds << ',';
        text += line.view();
        line.str({});
        line << block.shared_seconds << '\n';
        const std::size_t end = bytes_before + text.size() + line.view().size();
        const std::size_t left_on_page = (page_bytes - end % page_bytes) % page_bytes;
        if (left_on_page < most_line_bytes) text.append(left_on_page, '0');
        text += line.view();
    }
}

// A file that is appended to, or begun anew, by one write(2) after the other.
class appended_file {
  public:
    appended_file(const std::string& file, bool anew)
        : file_{detail::open_own_file(file, O_WRONLY | O_CREAT | O_APPEND | (anew ? O_TRUNC : 0))} {}
    ~appended_file() {
        if (file_ >= 0) ::close(file_);
    }
    appended_file(const appended_file&) = delete;
    appended_file& operator=(const appended_file&) = delete;

    // Writes all of it or nothing: on failure the file has `bytes_before` bytes again.
    bool write(std::string_view text, std::size_t bytes_before) const {
        while (!text.empty()) {
            const ::ssize_t written = ::write(file_, text.data(), text.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) {
                // A pipe or a device cannot be cut, and need not be.
                [[maybe_unused]] const int ignored = ::ftruncate(file_, static_cast<::off_t>(bytes_before));
                return false;
            }
            text.remove_prefix(usize(written));
        }
        return true;
    }

  private:
    int file_;
};

std::filesystem::file_time_type written_at(const std::string& file) {
    std::error_code missing;
    const auto time = std::filesystem::last_write_time(file, missing);
    return missing ? std::filesystem::file_time_type::min() : time;
}

}  // namespace

std::string block_log(std::span<const block_sample> blocks) {
    std::string text{log_header};
    append_lines(text, 0, blocks);
    return text;
}

void block_file::append(std::span<const block_sample> blocks) {
    std::string text;
    if (size_ == 0)
        text = block_log(blocks);
    else
        append_lines(text, size_, blocks);
    if (!appended_file{file_, size_ == 0}.write(text, size_))
        throw input_error("cannot write the log to '" + file_ + "'");
    size_ += text.size();
}

log_of_another::log_of_another(std::optional<std::string> file)
    : file_{std::move(file)}, before_{file_ ? written_at(*file_) : std::filesystem::file_time_type::min()} {}

void log_of_another::end_at_last_line() const noexcept {
    if (!file_ || written_at(*file_) == before_) return;
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(*file_, failed);
    std::ifstream stream{*file_, std::ios::binary};
    if (failed || !stream) return;
    std::uintmax_t end = size;
    while (end > 0) {
        char last = 0;
        if (!stream.seekg(static_cast<std::streamoff>(end - 1)).get(last)) return;
        if (last == '\n') break;
        --end;
    }
    if (end < size) std::filesystem::resize_file(*file_, end, failed);
}

}  // namespace tauto::runner
