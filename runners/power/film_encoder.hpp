#pragma once
// A film, or a part of it, as a stream of H.264, made by x264.
//
// The quantiser and the pattern of frames are fixed, nothing looks ahead, and motion is looked for in the
// same rows whatever the threads: so frames that are encoded at once give the stream of one thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <x264.h>

#include "runners/power/film.hpp"

namespace tauto::runner {

struct film_encoding {
    int threads = 1;
    bool sliced = false;        ///< threads share a frame, and not frames
    int frames_of_clip = 1;     ///< after so many, one that needs none before it
    bool is_looked_at = false;  ///< compare what a player will show with the film; the stream stays the same
};

struct film_stream {
    std::string bytes;                ///< all units but those that say how they were made
    std::uint64_t squared_error = 0;  ///< of all luma pixels, where it was looked at

    /// Appends what comes after it.
    void add(const film_stream& next);
};

/// How many frames begin in a stream.
std::size_t frames_in(std::string_view stream);

/// Encodes once; its threads live as long as it does. Throws input_error if x264 fails.
class film_encoder {
  public:
    film_encoder(const film& shown, const film_encoding& how);

    /// The frames from `first` to before `last`.
    film_stream encode(std::size_t first, std::size_t last);
    /// How many x264 uses: it cuts a frame of few rows into few slices.
    int threads() const;

    static constexpr std::string_view preset = "veryfast";
    static constexpr int quantiser = 24;

  private:
    struct close {
        void operator()(x264_t* encoder) const { x264_encoder_close(encoder); }
    };

    // One frame in, or none any more; what comes out is added.
    void step(film_stream& made, x264_picture_t* next);

    const film& shown_;
    film_encoding how_;
    std::unique_ptr<x264_t, close> encoder_;
};

}  // namespace tauto::runner
