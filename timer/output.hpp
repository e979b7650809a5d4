#pragma once
// What a program prints, in a file that it writes itself: a pipe would be read beside it, and would stop it
// when it is full.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tauto::timer {

// A 64-bit hash of a stream, which tells outputs apart; it resists no adversary.
class stream_hash {
  public:
    void add(std::string_view bytes);
    [[nodiscard]] std::uint64_t value() const;

  private:
    void take(std::uint64_t word);

    std::uint64_t state_ = 0x9e3779b97f4a7c15U;
    std::uint64_t word_ = 0;  // of bytes that are not yet eight
    std::uint64_t bytes_ = 0;
};

struct printed {
    std::string end;  // the last bytes
    std::int64_t bytes = 0;
    std::uint64_t hash = 0;
};

class output_file {
  public:
    // In memory. `kept`: how many of the last bytes are wanted; `hashed`: whether the hash is. Throws
    // std::system_error.
    output_file(std::size_t kept, bool hashed);
    // At `path`, which is made; no link is followed. Throws std::system_error.
    output_file(const std::string& path, std::size_t kept, bool hashed);
    ~output_file();
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;

    [[nodiscard]] int descriptor() const { return descriptor_; }
    // Makes it empty for the next run.
    void clear();
    // Takes in what is there if it is much, and gives its memory back: a program may print more than fits.
    void drain();
    // What the run has printed. A pipe or a device has kept nothing.
    [[nodiscard]] printed read();

  private:
    [[nodiscard]] std::int64_t size() const;
    void hash_until(std::int64_t end);

    int descriptor_;
    std::size_t kept_;
    bool hashes_;
    bool in_memory_;
    stream_hash hash_;
    std::int64_t taken_ = 0;  // bytes that are hashed
    std::int64_t freed_ = 0;  // bytes that hold no memory any more
};

}  // namespace tauto::timer
