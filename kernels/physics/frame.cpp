#include "kernels/physics/frame.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <string_view>

#include "kernels/fnv1a.hpp"

namespace tauto::kernels::physics {

namespace {

constexpr std::size_t most_pixels = std::size_t{1} << 27U;
constexpr std::array<vector2, 4> samples{{{0.25, 0.25}, {0.75, 0.25}, {0.25, 0.75}, {0.75, 0.75}}};

using colour = std::array<double, 3>;

constexpr std::array<colour, 6> palette{{{0.85, 0.37, 0.20},
                                         {0.20, 0.45, 0.70},
                                         {0.25, 0.60, 0.35},
                                         {0.80, 0.65, 0.20},
                                         {0.55, 0.35, 0.65},
                                         {0.30, 0.62, 0.68}}};

// Of the number and the shape alone: velocities may change while a frame is drawn.
colour colour_of(const body& one, std::size_t number) {
    colour paint = palette[number % palette.size()];
    if (one.form == shape::disc)
        for (double& channel : paint) channel = 0.4 + 0.6 * channel;
    return paint;
}

bool covers(const body& one, vector2 point) {
    const vector2 away = point - one.position;
    if (one.form == shape::disc) return dot(away, away) < one.radius * one.radius;
    const vector2 seen = into_frame(one.axis, away);
    return std::abs(seen.x) < one.half.x && std::abs(seen.y) < one.half.y;
}

std::uint8_t to_byte(double channel) {
    return static_cast<std::uint8_t>(std::clamp(channel, 0.0, 1.0) * 255.0 + 0.5);
}

// The picture's rows run downwards, the world's height upwards.
struct view {
    double scale;
    double height;

    vector2 point(double column, double row) const { return {column * scale, (height - row) * scale}; }
    // Pixels from the first that `from` may touch to the one behind the last that `to` may.
    part pixels(double from, double to, part limits) const {
        const auto inside = [&](double at) {
            return static_cast<std::size_t>(
                std::clamp(at, static_cast<double>(limits.begin), static_cast<double>(limits.end)));
        };
        return {inside(std::floor(from / scale)), inside(std::ceil(to / scale))};
    }
};

void paint_over(std::uint8_t* pixel, const colour& paint, double share) {
    for (std::size_t channel = 0; channel < 3; ++channel)
        pixel[channel] = to_byte((1.0 - share) * pixel[channel] / 255.0 + share * paint[channel]);
}

// In a picture of `width` columns.
void paint_body(std::uint8_t* pixels, std::size_t width, const view& seen, const body& one,
                std::size_t number, part over_rows) {
    const part over_columns =
        seen.pixels(one.position.x - one.radius, one.position.x + one.radius, {0, width});
    const colour paint = colour_of(one, number);
    for (std::size_t row = over_rows.begin; row < over_rows.end; ++row)
        for (std::size_t column = over_columns.begin; column < over_columns.end; ++column) {
            int hits = 0;
            for (const vector2 at : samples)
                hits += covers(
                    one, seen.point(static_cast<double>(column) + at.x, static_cast<double>(row) + at.y));
            if (hits > 0) paint_over(pixels + 3 * (row * width + column), paint, 0.25 * hits);
        }
}

}  // namespace

frame::frame(std::size_t width, std::size_t height) : width_{width}, height_{height} {
    if (width < 1 || height < 1 || width > most_pixels / height)
        throw error("a frame of " + std::to_string(width) + " by " + std::to_string(height) +
                    " pixels was asked for; it has 1 to " + std::to_string(most_pixels) + " pixels");
    pixels_.resize(3 * width * height);
}

void frame::draw(const world& scene, part of_rows) {
    const auto rows = static_cast<double>(height_);
    const view seen{std::max(scene.size().x / static_cast<double>(width_), scene.size().y / rows), rows};
    for (std::size_t row = of_rows.begin; row < of_rows.end; ++row) {
        const double shade = 0.95 - 0.15 * static_cast<double>(row) / rows;
        std::fill_n(pixels_.begin() + static_cast<std::ptrdiff_t>(3 * row * width_), 3 * width_,
                    to_byte(shade));
    }
    const double top_of_all = rows * seen.scale;
    const std::size_t bodies = scene.bodies().size();
    for (std::size_t first = 0; first < bodies; first += world::grain) {
        const reach& some = scene.reaches()[first / world::grain];
        const part theirs = seen.pixels(top_of_all - some.high, top_of_all - some.low, of_rows);
        if (theirs.begin >= theirs.end) continue;
        for (std::size_t i = first; i < std::min(first + world::grain, bodies); ++i) {
            const double top = top_of_all - scene.heights()[i];
            const double radius = scene.radii()[i];
            const part over_rows = seen.pixels(top - radius, top + radius, of_rows);
            if (over_rows.begin < over_rows.end)
                paint_body(pixels_.data(), width_, seen, scene.bodies()[i], i, over_rows);
        }
    }
}

std::uint64_t frame::hash() const {
    return fnv1a(std::string_view{reinterpret_cast<const char*>(pixels_.data()), pixels_.size()});
}

animation::animation(std::ostream& stream, std::size_t width, std::size_t height, int frames_a_second)
    : stream_{stream}, width_{width}, height_{height}, planes_(3 * width * height) {
    stream_ << "YUV4MPEG2 W" << width << " H" << height << " F" << frames_a_second << ":1 Ip A1:1 C444\n";
}

// ITU-R BT.601, with 16 to 235 for black to white.
void animation::add(const frame& picture) {
    if (picture.width() != width_ || picture.height() != height_)
        throw error("a frame of " + std::to_string(picture.width()) + " by " +
                    std::to_string(picture.height()) + " pixels was added to an animation of " +
                    std::to_string(width_) + " by " + std::to_string(height_));
    const std::size_t size = width_ * height_;
    const auto byte = [](double level) { return static_cast<char>(static_cast<std::uint8_t>(level + 0.5)); };
    for (std::size_t i = 0; i < size; ++i) {
        const double red = picture.pixels()[3 * i] / 255.0;
        const double green = picture.pixels()[3 * i + 1] / 255.0;
        const double blue = picture.pixels()[3 * i + 2] / 255.0;
        planes_[i] = byte(16.0 + 65.481 * red + 128.553 * green + 24.966 * blue);
        planes_[size + i] = byte(128.0 - 37.797 * red - 74.203 * green + 112.0 * blue);
        planes_[2 * size + i] = byte(128.0 + 112.0 * red - 93.786 * green - 18.214 * blue);
    }
    stream_ << "FRAME\n";
    stream_.write(planes_.data(), static_cast<std::streamsize>(planes_.size()));
}

}  // namespace tauto::kernels::physics
