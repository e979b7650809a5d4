#include "runners/power/film.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "runners/shared/signed.hpp"

namespace tauto::runner {

namespace {

constexpr int tile_width = 64;
constexpr int tile_height = 48;
constexpr int tiles = 12;
constexpr int parts = 4;  // of a pixel, in which places and speeds are counted

// A checked texture with a grain of its own, and how it moves.
struct tile {
    int x;  // in parts of a pixel, like the three below
    int y;
    int right;  // in a frame
    int down;
    std::array<std::uint8_t, usize(tile_width* tile_height)> texture;
};

int below(std::mt19937_64& random, int end) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(end));
}

tile tile_of(std::mt19937_64& random, int width, int height) {
    constexpr int fastest = 16;
    tile made{};
    made.x = below(random, parts * width);
    made.y = below(random, parts * height);
    made.right = below(random, 2 * fastest + 1) - fastest;
    made.down = below(random, 2 * fastest + 1) - fastest;
    const int check_width = 2 + below(random, 7);
    const int check_height = 2 + below(random, 7);
    const int light = 70 + below(random, 110);
    for (int y = 0; y < tile_height; ++y)
        for (int x = 0; x < tile_width; ++x) {
            const bool bright = (x / check_width + y / check_height) % 2 == 0;
            at(made.texture, y * tile_width + x) =
                static_cast<std::uint8_t>(light + (bright ? 25 : -25) + below(random, 16));
        }
    return made;
}

// 0 … 255 … 0 again and again.
int wave(int place) {
    const int phase = place & 511;
    return phase < 256 ? phase : 511 - phase;
}

int wrapped(int place, int end) {
    return (place % end + end) % end;
}

}  // namespace

film::film(int width, int height, std::size_t frames) : width_{width}, height_{height} {
    data_.resize(frames * frame_bytes());
    std::mt19937_64 random;  // default seed; its numbers are fixed by the standard
    std::vector<tile> moving;
    for (int i = 0; i < tiles; ++i) moving.push_back(tile_of(random, width, height));
    for (std::size_t number = 0; number < frames; ++number) {
        const int now = static_cast<int>(number);
        const std::span<std::uint8_t> luma{&data_[number * frame_bytes()], luma_bytes()};
        const auto pixel = [&](int x, int y) -> std::uint8_t& { return at(luma, y * width + x); };
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x)
                pixel(x, y) = static_cast<std::uint8_t>(
                    32 + (3 * wave(2 * x + 3 * now) + 2 * wave(3 * y - 2 * now)) / 8);
        for (const tile& one : moving)
            for (int y = 0; y < tile_height; ++y)
                for (int x = 0; x < tile_width; ++x)
                    pixel(wrapped((one.x + now * one.right) / parts + x, width),
                          wrapped((one.y + now * one.down) / parts + y, height)) =
                        at(one.texture, y * tile_width + x);
        // Noise of two bits: 32 pixels a number.
        for (std::size_t begin = 0; begin < luma.size(); begin += 32) {
            const std::uint64_t word = random();
            for (std::size_t i = begin; i < std::min(begin + 32, luma.size()); ++i)
                luma[i] = static_cast<std::uint8_t>(luma[i] + (word >> (2 * (i - begin)) & 3U));
        }
        std::uint8_t* chroma = luma.data() + luma.size();
        for (const int step : {1, -1})
            for (int y = 0; y < height / 2; ++y)
                for (int x = 0; x < width / 2; ++x)
                    *chroma++ =
                        static_cast<std::uint8_t>(112 + wave(4 * (step > 0 ? x : y) + step * now) / 8);
    }
}

std::size_t film::luma_bytes() const {
    return usize(width_) * usize(height_);
}

std::span<const std::uint8_t> film::frame(std::size_t number) const {
    return std::span{data_}.subspan(number * frame_bytes(), frame_bytes());
}

std::string_view film::bytes() const {
    return {reinterpret_cast<const char*>(data_.data()), data_.size()};
}

}  // namespace tauto::runner
