#pragma once
// A made-up film: textured tiles that move before a gradient that moves too, with the noise of a camera.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tauto::runner {

/// Frames of 8-bit 4:2:0, the same ones in every process.
class film {
  public:
    /// `width` and `height` are even.
    film(int width, int height, std::size_t frames);

    int width() const { return width_; }
    int height() const { return height_; }
    std::size_t frames() const { return data_.size() / frame_bytes(); }
    std::size_t luma_bytes() const;
    std::size_t chroma_bytes() const { return luma_bytes() / 4; }  ///< of each of the two planes
    std::size_t frame_bytes() const { return luma_bytes() + 2 * chroma_bytes(); }

    /// The luma plane row by row, then both of chroma.
    std::span<const std::uint8_t> frame(std::size_t number) const;
    /// All frames, for a hash.
    std::string_view bytes() const;

  private:
    int width_;
    int height_;
    std::vector<std::uint8_t> data_;
};

}  // namespace tauto::runner
