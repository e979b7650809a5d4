#pragma once
// Video encoding as a job: a film becomes a stream of H.264 with x264.
//
// x264's own threads share its frames, or each frame in slices; or members of a team take clips, each encoded
// by itself.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tauto/tauto.hpp>

#include "runners/power/film.hpp"
#include "runners/power/film_encoder.hpp"
#include "runners/shared/job.hpp"

namespace tauto::runner {

struct video_request : options {
    int width = 640;
    int height = 360;
    std::int64_t clips = 8;
    std::int64_t clip_frames = 6;
    std::optional<std::string> stream_file;  ///< write the stream here
};

/// Checks everything that can be known before the job starts; see command_line.
video_request parse_video(int argc, char** argv, std::string_view executable, const description& runtime);

/// Decibels (PSNR) of luma that is off by so much: more are better.
double decibels_of(const film& shown, std::uint64_t squared_error);

/// What is wrong with a stream of so many slices a frame, beside one thread's; empty where nothing is.
std::string fault_of(const film& shown, const film_stream& made, const film_stream& right, int slices);

class video_job : public job {
  public:
    static constexpr std::string_view executable = "tauto-power-video";
    static description describe();

    explicit video_job(const video_request& asked);

    void repeat() override;
    void forget_account() override;
    std::vector<busy_worker> workers() const override;
    job_answer check() override;
    json detail(double repetitions) const override;
    // The loop's schedule may leave out members; x264 pins nothing, and cuts a frame of few rows into few
    // slices.
    bool may_drop_workers() const override { return true; }
    std::string diagnosis() const override;

  private:
    struct alignas(128) account {
        double seconds = 0.0;
        int cpu = 0;
    };

    film_encoding encoding(int threads) const;
    film_stream encode_clip(std::int64_t clip, const film_encoding& how) const;
    film_stream encode_whole(const film_encoding& how) const;
    film_stream share_clips();
    // On the calling thread, or among threads that x264 starts and ends.
    film_stream leave_to_encoder();
    // The account of a thread that has worked so long, and is on this CPU now.
    void note(int rank, double seconds, int cpu);

    video_request asked_;
    film film_;
    film_stream made_;
    std::string first_bytes_;  // of the first repetition
    std::int64_t changed_ = 0;
    int encoder_threads_ = 1;
    double decibels_ = 0.0;          // of what the check made
    std::vector<account> accounts_;  // by rank
    std::optional<tauto::team> team_;
};

}  // namespace tauto::runner
