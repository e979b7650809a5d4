#pragma once
// The command lines of the executables. CLI11, which reads them, is compiled in option_parser.cpp alone:
// including it takes the compiler longer than most of what is measured here.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tauto/error.hpp>
#include <vector>

namespace tauto {

/// Help was asked for, and stands on standard output: the program ends with this status.
struct help_was_printed {
    int status;
};

/// Each value that is added must outlive the parser.
class option_parser {
  public:
    /// `purpose`: what the program does, as a sentence. `name`: of the program.
    option_parser(const std::string& purpose, const std::string& name);
    ~option_parser();
    option_parser(const option_parser&) = delete;
    option_parser& operator=(const option_parser&) = delete;

    /// What the help says below the options.
    void footer(const std::string& text);

    /// A bool is a flag. The help shows the value as the default; for std::optional there is none. Defined
    /// for the types that option_parser.cpp lists.
    template <class Value>
    void add(const std::string& name, Value& value, const std::string& help);
    /// It must be given.
    void add_required(const std::string& name, std::optional<std::string>& value, const std::string& help);
    /// A number outside `least` to `most` is refused. Defined for int, std::int64_t, std::size_t and double.
    template <class Number>
    void add(const std::string& name, Number& value, const std::string& help, Number least, Number most);
    /// One of these words: std::string or an optional one. A name without dashes is the first word of the
    /// command line, and must be there.
    template <class Word>
    void add(const std::string& name, Word& value, const std::string& help,
             const std::vector<std::string>& known);

    /// Throws help_was_printed, or error with what was wrong and the remedy.
    void parse(int count, const char* const* words);
    /// Parses what stands before a lone --, and returns what stands behind it: a command.
    std::vector<std::string> parse_before_command(int count, const char* const* words);

  private:
    void parse(int count, const char* const* words, const std::string& of_a_word_too_many);

    struct library;
    std::unique_ptr<library> library_;
};

}  // namespace tauto
