#include "kernels/nbody/snapshot.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "kernels/read_number.hpp"

namespace tauto::kernels::nbody {

namespace {

constexpr std::string_view title = "tautochrone-snapshot 1";
constexpr std::size_t columns_of_a_line = 7;
constexpr const char* column_names = "mass, three of position, three of velocity";
// 168 bytes each: a wrong header must not ask for all memory there is.
constexpr std::int64_t most_particles = 1'000'000'000;

class line_reader {
  public:
    line_reader(std::istream& stream, const std::string& name) : stream_{stream}, name_{name} {}

    /// The next line that is neither a remark nor empty. False at the end.
    bool next() {
        while (std::getline(stream_, line_)) {
            ++number_;
            if (line_.ends_with('\r')) line_.pop_back();
            const std::size_t start = line_.find_first_not_of(" \t");
            if (start != std::string::npos && line_[start] != '#') return true;
        }
        return false;
    }
    const std::string& line() const { return line_; }

    std::vector<std::string_view> words() const {
        std::vector<std::string_view> found;
        const std::string_view text = line_;
        for (std::size_t from = text.find_first_not_of(" \t"); from != std::string_view::npos;) {
            const std::size_t to = std::min(text.find_first_of(" \t", from), text.size());
            found.push_back(text.substr(from, to - from));
            from = text.find_first_not_of(" \t", to);
        }
        return found;
    }

    [[noreturn]] void refuse(const std::string& what) const {
        throw error("snapshot '" + name_ + "', line " + std::to_string(number_) + ": " + what);
    }
    [[noreturn]] void refuse_end(const std::string& what) const {
        throw error("snapshot '" + name_ + "' ends after line " + std::to_string(number_) + ": " + what);
    }

    double number(std::string_view word) const {
        const auto value = to_number(word.starts_with('+') ? word.substr(1) : word);
        if (!value) refuse("'" + std::string{word} + "' is not a number; write one such as 0.25 or 1e-3");
        if (!std::isfinite(*value))
            refuse("'" + std::string{word} + "' is not finite; every value must be a finite number");
        return *value;
    }

  private:
    std::istream& stream_;
    const std::string& name_;
    std::string line_;
    std::int64_t number_ = 0;
};

std::string_view value_of(line_reader& lines, std::string_view key) {
    const std::string wanted = "'" + std::string{key} + " ...'";
    if (!lines.next())
        lines.refuse_end("the header's line " + wanted + " is missing; write the whole file again");
    const auto words = lines.words();
    if (words.size() != 2 || words[0] != key)
        lines.refuse("the header needs " + wanted + " here, found '" + lines.line() + "'");
    return words[1];
}

std::size_t read_count(line_reader& lines) {
    const std::string_view word = value_of(lines, "particles");
    std::int64_t count = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), count);
    if (problem != std::errc{} || end != word.data() + word.size() || count < 1 || count > most_particles)
        lines.refuse("'" + std::string{word} + "' is not a count of particles from 1 to " +
                     std::to_string(most_particles));
    return static_cast<std::size_t>(count);
}

std::array<double, columns_of_a_line> read_particle(const line_reader& lines) {
    const auto words = lines.words();
    if (words.size() != columns_of_a_line)
        lines.refuse("found " + std::to_string(words.size()) + " columns, need " +
                     std::to_string(columns_of_a_line) + ": " + column_names);
    std::array<double, columns_of_a_line> values{};
    for (std::size_t c = 0; c < columns_of_a_line; ++c) values[c] = lines.number(words[c]);
    if (values[0] < 0.0)
        lines.refuse("the mass " + std::string{words[0]} + " is negative; it must be 0 or more");
    return values;
}

void append(std::string& text, double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text.append(digits.data(), end);
}

}  // namespace

snapshot read_snapshot(std::istream& stream, const std::string& name) {
    line_reader lines{stream, name};
    if (!lines.next()) lines.refuse_end("it is empty; a snapshot begins with '" + std::string{title} + "'");
    if (lines.line() != title)
        lines.refuse("found '" + lines.line().substr(0, 40) + "', need '" + std::string{title} +
                     "'; this is not a snapshot of tautochrone");
    const std::size_t count = read_count(lines);
    const double time = lines.number(value_of(lines, "time"));
    // Grown line by line: the memory follows what is there, not what the header claims.
    std::vector<std::array<double, columns_of_a_line>> rows;
    while (rows.size() < count) {
        if (!lines.next())
            lines.refuse_end("it has " + std::to_string(rows.size()) + " of " + std::to_string(count) +
                             " particles; write the whole file again, or correct 'particles'");
        rows.push_back(read_particle(lines));
    }
    if (lines.next())
        lines.refuse("there is more after the last of " + std::to_string(count) +
                     " particles; correct 'particles' or remove it");
    snapshot result{particles{count}, time};
    for (std::size_t i = 0; i < count; ++i) {
        const auto& row = rows[i];
        result.bodies.mass()[i] = row[0];
        result.bodies.set(position, i, {row[1], row[2], row[3]});
        result.bodies.set(velocity, i, {row[4], row[5], row[6]});
    }
    return result;
}

snapshot read_snapshot(const std::string& file) {
    std::ifstream stream{file};
    if (!stream) throw error("cannot read the snapshot '" + file + "'; check its name and permissions");
    return read_snapshot(stream, file);
}

void write_snapshot(std::ostream& stream, const particles& bodies, double time) {
    std::string text{title};
    text += "\nparticles " + std::to_string(bodies.size()) + "\ntime ";
    append(text, time);
    text += "\n# mass  position  velocity\n";
    for (std::size_t i = 0; i < bodies.size(); ++i) {
        append(text, bodies.mass()[i]);
        for (const field of : {position, velocity})
            for (const double value : bodies.vector(of, i)) {
                text += ' ';
                append(text, value);
            }
        text += '\n';
    }
    stream << text;
}

}  // namespace tauto::kernels::nbody
