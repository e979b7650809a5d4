#include "runners/power/video_job.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/fnv1a.hpp"
#include "runners/power/request.hpp"
#include "runners/shared/command_line.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/memory.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/tautochrone_team.hpp"

namespace tauto::runner {

namespace {

constexpr double least_decibels = 35.0;  // of what a player shows against the film
constexpr double decibels_apart = 0.5;   // at most, from one thread's
constexpr double bytes_apart = 0.05;     // at most, as a part of one thread's
constexpr double bytes_of_slice = 0.03;  // more for each: it has a header, and looks at no other slice

std::string in_words(double value) {
    std::ostringstream words;
    words << std::fixed << std::setprecision(1) << value;
    return words.str();
}

void require_even(const char* option, int pixels) {
    constexpr int least = 32;
    constexpr int most = 8192;
    if (pixels < least || pixels > most || pixels % 2 != 0)
        throw input_error(std::string{option} + " is " + std::to_string(pixels) +
                          "; it must be an even number from 32 to 8192");
}

}  // namespace

video_request parse_video(int argc, char** argv, std::string_view executable, const description& runtime) {
    video_request chosen;
    command_line line{"A film that is encoded as H.264", "Clips", executable, runtime, chosen};
    line.add("--width", chosen.width, "Pixels of a frame's row");
    line.add("--height", chosen.height, "Rows of a frame");
    line.add("--clips", chosen.clips, "Clips, each of which can be encoded by itself");
    line.add("--clip-frames", chosen.clip_frames, "Frames of a clip");
    line.add("--stream", chosen.stream_file, "Write the stream to this file (.h264)");
    if (!line.parse(argc, argv)) return chosen;
    require_even("--width", chosen.width);
    require_even("--height", chosen.height);
    for (const auto& [option, count] :
         {std::pair{"--clips", chosen.clips}, {"--clip-frames", chosen.clip_frames}}) {
        require_from_one(option, count);
        require_at_most(option, count, 100'000);
    }
    line.check();
    require_threads(chosen);
    const double bytes_of_clip = 1.5 * chosen.width * chosen.height * as_double(chosen.clip_frames);
    require_memory(bytes_of_clip * as_double(chosen.clips), "the frames of the film", [&](double there) {
        return "use --clips up to about " + whole_number(there / bytes_of_clip);
    });
    return chosen;
}

double decibels_of(const film& shown, std::uint64_t squared_error) {
    const double pixels = as_double(shown.luma_bytes() * shown.frames());
    return 10.0 * std::log10(255.0 * 255.0 * pixels / std::max(1.0, as_double(squared_error)));
}

std::string fault_of(const film& shown, const film_stream& made, const film_stream& right, int slices) {
    if (const std::size_t frames = frames_in(made.bytes); frames != shown.frames())
        return "the stream has " + std::to_string(frames) + " of " + std::to_string(shown.frames()) +
               " frames";
    const double decibels = decibels_of(shown, made.squared_error);
    const double alone = decibels_of(shown, right.squared_error);
    if (decibels < least_decibels || std::abs(decibels - alone) > decibels_apart)
        return "the encoded film has " + in_words(decibels) + " dB against the film, and " + in_words(alone) +
               " dB where one thread encodes it; " + in_words(least_decibels) +
               " are expected, and at most " + in_words(decibels_apart) + " between the two";
    const auto bytes = as_double(right.bytes.size());
    if (std::abs(as_double(made.bytes.size()) - bytes) > (bytes_apart + bytes_of_slice * slices) * bytes)
        return "the stream has " + std::to_string(made.bytes.size()) + " bytes, and that of one thread has " +
               std::to_string(right.bytes.size());
    return "";
}

description video_job::describe() {
    description video = tautochrone_description();
    video.schedules = {{"serial", false}, {"frames", false}, {"slices", false}, {"clips", false}};
    return video;
}

video_job::video_job(const video_request& asked)
    : asked_{asked},
      film_{asked.width, asked.height, usize(asked.clips * asked.clip_frames)},
      accounts_(usize(asked.threads)) {
    if (asked_.schedule == "clips") team_.emplace(team_options_of(asked_));
}

film_encoding video_job::encoding(int threads) const {
    return {.threads = threads,
            .sliced = asked_.schedule == "slices",
            .frames_of_clip = static_cast<int>(asked_.clip_frames)};
}

film_stream video_job::encode_whole(const film_encoding& how) const {
    return film_encoder{film_, how}.encode(0, film_.frames());
}

film_stream video_job::encode_clip(std::int64_t clip, const film_encoding& how) const {
    return film_encoder{film_, how}.encode(usize(clip * asked_.clip_frames),
                                           usize((clip + 1) * asked_.clip_frames));
}

void video_job::note(int rank, double seconds, int cpu) {
    account& mine = at(accounts_, rank);
    mine.seconds += seconds;
    mine.cpu = cpu;
}

film_stream video_job::share_clips() {
    std::vector<film_stream> clips(usize(asked_.clips));
    tauto::parallel_for(*team_, asked_.clips, [&](range some, int rank) {
        const double begin = thread_cpu_seconds();
        for (index clip = some.begin; clip < some.end; ++clip)
            at(clips, clip) = encode_clip(clip, encoding(1));
        note(rank, thread_cpu_seconds() - begin, sched_getcpu());
    });
    film_stream whole;
    for (const film_stream& one : clips) whole.add(one);
    return whole;
}

film_stream video_job::leave_to_encoder() {
    const double begin = thread_cpu_seconds();
    film_encoder encoder{film_, encoding(asked_.threads)};
    film_stream whole = encoder.encode(0, film_.frames());
    encoder_threads_ = encoder.threads();
    if (encoder_threads_ == 1) {
        note(0, thread_cpu_seconds() - begin, sched_getcpu());
        return whole;
    }
    // The caller hands out frames and waits.
    const auto busy = threads_.workers("encodes", false);
    accounts_.resize(std::max(accounts_.size(), busy.size()));
    for (std::size_t rank = 0; rank < busy.size(); ++rank)
        note(static_cast<int>(rank), busy[rank].busy_seconds, busy[rank].cpu);
    return whole;
}

void video_job::repeat() {
    made_ = team_ ? share_clips() : leave_to_encoder();
    if (first_bytes_.empty()) first_bytes_ = made_.bytes;
    if (made_.bytes != first_bytes_) ++changed_;
}

void video_job::forget_account() {
    for (account& one : accounts_) one = {};
}

std::vector<busy_worker> video_job::workers() const {
    std::vector<busy_worker> found;
    for (std::size_t rank = 0; rank < accounts_.size(); ++rank)
        if (accounts_[rank].seconds > 0.0)
            found.push_back(
                {static_cast<int>(rank), accounts_[rank].cpu, "encodes", accounts_[rank].seconds});
    return found;
}

job_answer video_job::check() {
    if (asked_.stream_file) write_file("the stream", *asked_.stream_file, made_.bytes);
    const film_encoding alone{.frames_of_clip = static_cast<int>(asked_.clip_frames), .is_looked_at = true};
    const film_stream right = encode_whole(alone);
    film_stream again;
    int slices = 1;
    if (team_) {
        for (std::int64_t clip = 0; clip < asked_.clips; ++clip) again.add(encode_clip(clip, alone));
    } else if (asked_.schedule == "slices") {
        film_encoding sliced = encoding(asked_.threads);
        sliced.is_looked_at = true;
        again = encode_whole(sliced);
        slices = encoder_threads_;
    } else {
        again = right;
    }
    decibels_ = decibels_of(film_, again.squared_error);
    // Streams differ with the way, so the answer is the film that they show.
    job_answer found{true, fnv1a_text(fnv1a(film_.bytes())), fault_of(film_, again, right, slices)};
    if (made_.bytes != again.bytes)
        found.reason = "the stream of " + std::to_string(made_.bytes.size()) + " bytes is not that of " +
                       std::to_string(again.bytes.size()) + " bytes which the check encoded";
    if (changed_ > 0)
        found.reason = std::to_string(changed_) + " repetitions gave another stream than the first";
    found.passed = found.reason.empty();
    return found;
}

json video_job::detail(double) const {
    return {{"bytes", film_.bytes().size()},
            {"frames", film_.frames()},
            {"clips", asked_.clips},
            {"pixels", {film_.width(), film_.height()}},
            {"preset", film_encoder::preset},
            {"quantiser", film_encoder::quantiser},
            {"stream_bytes", made_.bytes.size()},
            {"decibels", decibels_},
            {"encoder_threads", encoder_threads_},
            {"encoder", "x264 " X264_POINTVER}};
}

std::string video_job::diagnosis() const {
    return team_ ? diagnosis_of(*team_) : "x264 starts its own threads";
}

}  // namespace tauto::runner
