#include "runners/common/nbody_row.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "kernels/fnv1a.hpp"
#include "runners/common/error.hpp"

namespace tauto::runner {

namespace {

struct active_class {
    std::vector<double> seconds;
    std::vector<double> predicted;
    std::vector<double> active;
    double total = 0.0;
    double shared = 0.0;
    std::map<std::string, std::int64_t> schemes;
    std::map<std::string, std::int64_t> widths;
};

// By power of two of the active count.
json classes_json(const std::vector<block_sample>& blocks) {
    std::map<std::size_t, active_class> classes;
    for (const auto& block : blocks) {
        auto& one = classes[std::bit_floor(block.active)];
        one.seconds.push_back(block.seconds);
        one.active.push_back(static_cast<double>(block.active));
        if (block.predicted_seconds > 0.0) one.predicted.push_back(block.predicted_seconds);
        one.total += block.seconds;
        one.shared += block.shared_seconds;
        ++one.schemes[block.scheme];
        ++one.widths[std::to_string(block.width)];
    }
    json list = json::array();
    for (const auto& [from, one] : classes)
        list.push_back(
            {{"active_from", from},
             {"active_below", 2 * from},
             {"blocks", one.seconds.size()},
             {"median_active", median(one.active)},
             {"median_seconds", median(one.seconds)},
             {"total_seconds", one.total},
             {"predicted_median_seconds", one.predicted.empty() ? json{} : json(median(one.predicted))},
             {"shared_share", one.shared / one.total},
             {"schemes", one.schemes},
             {"widths", one.widths}});
    return list;
}

struct totals {
    double shared_seconds = 0.0;
    double particle_steps = 0.0;
};

totals totals_of(const std::vector<block_sample>& blocks) {
    totals sum;
    for (const auto& block : blocks) {
        sum.shared_seconds += block.shared_seconds;
        sum.particle_steps += static_cast<double>(block.active);
    }
    return sum;
}

double change(const kernels::nbody::vector3& before, const kernels::nbody::vector3& after) {
    double squared = 0.0;
    for (std::size_t c = 0; c < 3; ++c) squared += (after[c] - before[c]) * (after[c] - before[c]);
    return std::sqrt(squared);
}

}  // namespace

double energy_tolerance(const nbody_request& asked) {
    const int order = asked.hermite.order;
    const double usual = kernels::nbody::usual_accuracy(order);
    const double eta = asked.hermite.accuracy > 0.0 ? asked.hermite.accuracy : usual;
    return 1e-4 * std::max(1.0, std::pow(eta / usual, order));
}

bool passed(const nbody_request& asked, const nbody_result& seen) {
    return kernels::nbody::energy_error(seen.before, seen.last.after) <= energy_tolerance(asked) &&
           seen.different_runs == 0;
}

json nbody_row(const description& runtime, const nbody_request& asked, const nbody_result& seen) {
    const auto& blocks = seen.last.blocks;
    const totals sum = totals_of(blocks);
    const auto particles = static_cast<double>(asked.particles);
    json row = row_of(runtime, asked, seen.timed);
    row.update({{"scheme", asked.schedule},
                {"particles", asked.particles},
                {"order", asked.hermite.order},
                {"softening", asked.hermite.softening},
                {"eta", asked.hermite.accuracy},
                {"largest_step", asked.hermite.largest_step},
                {"seed", asked.seed},
                {"snapshot", asked.snapshot ? json(*asked.snapshot) : json{}},
                {"instructions", name_of(asked.hermite.instructions)},
                {"end_time", blocks.empty() ? json{} : json(blocks.back().time)},
                {"blocks", blocks.size()},
                {"particle_steps", sum.particle_steps},
                {"mean_active", sum.particle_steps / static_cast<double>(blocks.size())},
                {"pairs_per_second", sum.particle_steps * particles / seen.last.seconds},
                {"start_seconds", seen.last.start_seconds},
                {"shared_share", sum.shared_seconds / seen.last.seconds},
                {"predicted", !blocks.empty() && blocks.back().predicted_seconds > 0.0},
                {"classes", classes_json(blocks)},
                {"model", seen.last.model},
                {"width", threads_of(seen.workers).size()},
                {"dropped", false}});
    row["check"] = {
        {"passed", passed(asked, seen)},
        {"energy_error", kernels::nbody::energy_error(seen.before, seen.last.after)},
        {"tolerance", energy_tolerance(asked)},
        {"energy", seen.last.after.energy()},
        {"momentum_change", change(seen.before.momentum, seen.last.after.momentum)},
        {"angular_momentum_change", change(seen.before.angular_momentum, seen.last.after.angular_momentum)},
        {"different_runs", seen.different_runs},
        {"state_fnv1a", fnv1a_text(seen.last.state_hash)}};
    return row;
}

namespace {

constexpr std::string_view log_header = "time,active,scheme,width,predicted_seconds,seconds,shared_seconds\n";

// Files are written in pages of 4 KiB, or in larger ones that begin at multiples of it.
constexpr std::size_t page_bytes = 4096;
// Six numbers of at most 24 characters, the scheme, commas.
constexpr std::size_t most_line_bytes = 192;

// Appended to `text`, the rest of a file of so many bytes.
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
        : file_{
              ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (anew ? O_TRUNC : 0), 0666)} {}
    ~appended_file() {
        if (file_ >= 0) ::close(file_);
    }
    appended_file(const appended_file&) = delete;
    appended_file& operator=(const appended_file&) = delete;

    // All of it or, where that could not be, nothing: the file has so many bytes again.
    bool write(std::string_view text, std::size_t bytes_before) const {
        while (!text.empty()) {
            const ::ssize_t written = ::write(file_, text.data(), text.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) {
                // What is no file cannot be cut, and needs not be.
                [[maybe_unused]] const int ignored = ::ftruncate(file_, static_cast<::off_t>(bytes_before));
                return false;
            }
            text.remove_prefix(static_cast<std::size_t>(written));
        }
        return true;
    }

  private:
    int file_;
};

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

namespace {

std::filesystem::file_time_type written_at(const std::string& file) {
    std::error_code missing;
    const auto time = std::filesystem::last_write_time(file, missing);
    return missing ? std::filesystem::file_time_type::min() : time;
}

}  // namespace

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
