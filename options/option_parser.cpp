#include "options/option_parser.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string_view>
#include <type_traits>

namespace tauto {

struct option_parser::library : CLI::App {
    using CLI::App::App;
};

option_parser::option_parser(const std::string& purpose, const std::string& name)
    : library_{std::make_unique<library>(purpose, name)} {}

option_parser::~option_parser() = default;

void option_parser::footer(const std::string& text) {
    library_->footer(text);
}

template <class Value>
void option_parser::add(const std::string& name, Value& value, const std::string& help) {
    if constexpr (std::is_same_v<Value, bool>)
        library_->add_flag(name, value, help);
    else if constexpr (requires { value.has_value(); })
        library_->add_option(name, value, help);
    else
        library_->add_option(name, value, help)->capture_default_str();
}

template void option_parser::add(const std::string&, bool&, const std::string&);
template void option_parser::add(const std::string&, int&, const std::string&);
template void option_parser::add(const std::string&, std::int64_t&, const std::string&);
template void option_parser::add(const std::string&, std::uint64_t&, const std::string&);
template void option_parser::add(const std::string&, double&, const std::string&);
template void option_parser::add(const std::string&, std::string&, const std::string&);
template void option_parser::add(const std::string&, std::optional<int>&, const std::string&);
template void option_parser::add(const std::string&, std::optional<std::int64_t>&, const std::string&);
template void option_parser::add(const std::string&, std::optional<double>&, const std::string&);
template void option_parser::add(const std::string&, std::optional<std::string>&, const std::string&);

void option_parser::add_required(const std::string& name, std::optional<std::string>& value,
                                 const std::string& help) {
    library_->add_option(name, value, help)->required();
}

template <class Number>
void option_parser::add(const std::string& name, Number& value, const std::string& help, Number least,
                        Number most) {
    library_->add_option(name, value, help)->check(CLI::Range(least, most))->capture_default_str();
}

template void option_parser::add(const std::string&, int&, const std::string&, int, int);
template void option_parser::add(const std::string&, std::int64_t&, const std::string&, std::int64_t,
                                 std::int64_t);
template void option_parser::add(const std::string&, std::size_t&, const std::string&, std::size_t,
                                 std::size_t);
template void option_parser::add(const std::string&, double&, const std::string&, double, double);

template <class Word>
void option_parser::add(const std::string& name, Word& value, const std::string& help,
                        const std::vector<std::string>& known) {
    CLI::Option* const option = library_->add_option(name, value, help)->check(CLI::IsMember(known));
    if (!name.starts_with("-"))
        option->required();
    else if constexpr (std::is_same_v<Word, std::string>)
        option->capture_default_str();
}

template void option_parser::add(const std::string&, std::string&, const std::string&,
                                 const std::vector<std::string>&);
template void option_parser::add(const std::string&, std::optional<std::string>&, const std::string&,
                                 const std::vector<std::string>&);

void option_parser::parse(int count, const char* const* words, const std::string& of_a_word_too_many) {
    try {
        library_->parse(count, words);
    } catch (const CLI::Success& request) {
        throw help_was_printed{library_->exit(request)};
    } catch (const CLI::ExtrasError& failure) {
        throw error(failure.what() + of_a_word_too_many);
    } catch (const CLI::ParseError& failure) {
        throw error(failure.what() + std::string("; see --help"));
    }
}

void option_parser::parse(int count, const char* const* words) {
    parse(count, words, "; see --help");
}

std::vector<std::string> option_parser::parse_before_command(int count, const char* const* words) {
    const auto mark =
        std::find_if(words, words + count, [](const char* word) { return std::string_view(word) == "--"; });
    parse(static_cast<int>(mark - words), words, "; put -- before the command");
    if (mark == words + count) return {};
    return {mark + 1, words + count};
}

}  // namespace tauto
