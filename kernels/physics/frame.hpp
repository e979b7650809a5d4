#pragma once
// A picture of a world in memory, and pictures as an animation.

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "kernels/physics/world.hpp"

namespace tauto::kernels::physics {

class frame {
  public:
    /// Throws error for no pixels, or for more than memory should be asked for.
    frame(std::size_t width, std::size_t height);

    std::size_t width() const noexcept { return width_; }
    std::size_t height() const noexcept { return height_; }
    /// Red, green, blue from the top left, row by row.
    std::span<const std::uint8_t> pixels() const noexcept { return pixels_; }

    /// Draws some rows: the background, then every body that reaches into them, in their order. Edges are
    /// smoothed by four samples a pixel. Several threads may draw disjoint rows, while others find contacts.
    void draw(const world& scene, part of_rows);

    /// Of all pixels.
    std::uint64_t hash() const;

  private:
    std::size_t width_;
    std::size_t height_;
    std::vector<std::uint8_t> pixels_;
};

/// Writes frames of one size as YUV4MPEG2 (.y4m) with full colour, which players and encoders read.
class animation {
  public:
    animation(std::ostream& stream, std::size_t width, std::size_t height, int frames_a_second = 25);

    /// Throws error for a frame of another size.
    void add(const frame& picture);

  private:
    std::ostream& stream_;
    std::size_t width_;
    std::size_t height_;
    std::vector<char> planes_;
};

}  // namespace tauto::kernels::physics
