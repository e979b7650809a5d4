#pragma once
// The lines that the lab sends. While a program runs, the word `cancel` or the end of the input stops it.

#include <optional>
#include <string>

namespace tauto::timer {

class inbox {
  public:
    explicit inbox(int descriptor) : descriptor_(descriptor) {}

    [[nodiscard]] int descriptor() const { return descriptor_; }
    // Reads what is there, without waiting if poll(2) said that there is some.
    void take();
    // Whether the lab has asked to stop since this was last asked.
    [[nodiscard]] bool cancelled();
    [[nodiscard]] bool ended() const { return ended_; }
    // The next request that has come whole.
    [[nodiscard]] std::optional<std::string> next();

  private:
    int descriptor_;
    std::string text_;
    std::size_t looked_at_ = 0;  // of the text
    bool ended_ = false;
};

}  // namespace tauto::timer
