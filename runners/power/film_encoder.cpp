#include "runners/power/film_encoder.hpp"

#include <span>

#include "runners/shared/error.hpp"
#include "runners/shared/signed.hpp"

namespace tauto::runner {

namespace {

// How far up and down motion is looked for: a frame waits until those that it refers to are so far ahead.
constexpr int motion_rows = 40;

x264_param_t settings_of(const film& shown, const film_encoding& how) {
    x264_param_t chosen;
    if (x264_param_default_preset(&chosen, film_encoder::preset.data(), nullptr) != 0)
        throw input_error("x264 has no preset " + std::string{film_encoder::preset} +
                          "; use another build of it");
    chosen.i_log_level = X264_LOG_NONE;
    chosen.i_csp = X264_CSP_I420;
    chosen.i_bitdepth = 8;
    chosen.i_width = shown.width();
    chosen.i_height = shown.height();
    chosen.b_vfr_input = 0;
    chosen.i_threads = how.threads;
    chosen.b_sliced_threads = how.sliced ? 1 : 0;
    chosen.b_deterministic = 1;
    chosen.b_full_recon = how.is_looked_at ? 1 : 0;
    chosen.rc.i_rc_method = X264_RC_CQP;
    chosen.rc.i_qp_constant = film_encoder::quantiser;
    chosen.i_keyint_min = chosen.i_keyint_max = how.frames_of_clip;
    chosen.i_scenecut_threshold = 0;
    // What looks ahead: it would be a function of its own beside the threads that share the frames.
    chosen.rc.b_mb_tree = 0;
    chosen.i_bframe_adaptive = X264_B_ADAPT_NONE;
    chosen.analyse.i_weighted_pred = X264_WEIGHTP_NONE;
    chosen.i_sync_lookahead = 0;
    chosen.i_lookahead_threads = 1;
    chosen.analyse.i_mv_range = chosen.analyse.i_mv_range_thread = motion_rows;
    return chosen;
}

std::uint64_t squared_error_of(const x264_image_t& decoded, const film& shown, std::size_t number) {
    const std::span<const std::uint8_t> right = shown.frame(number);
    std::uint64_t sum = 0;
    for (int y = 0; y < shown.height(); ++y)
        for (int x = 0; x < shown.width(); ++x) {
            const int off = decoded.plane[0][y * decoded.i_stride[0] + x] - at(right, y * shown.width() + x);
            sum += static_cast<std::uint64_t>(off * off);
        }
    return sum;
}

}  // namespace

void film_stream::add(const film_stream& next) {
    bytes += next.bytes;
    squared_error += next.squared_error;
}

std::size_t frames_in(std::string_view stream) {
    // A unit begins after 00 00 01 with a byte whose low five bits say what it is; a slice of a frame (1, 5)
    // goes on with the number of its first block, and the first bit is set where that is 0.
    constexpr std::string_view start{"\0\0\1", 3};
    std::size_t found = 0;
    for (std::size_t unit = stream.find(start); unit != std::string_view::npos;
         unit = stream.find(start, unit + start.size())) {
        if (unit + start.size() + 1 >= stream.size()) break;
        const int is = stream[unit + start.size()] & 31;
        const bool is_first = (stream[unit + start.size() + 1] & 128) != 0;
        if ((is == NAL_SLICE || is == NAL_SLICE_IDR) && is_first) ++found;
    }
    return found;
}

film_encoder::film_encoder(const film& shown, const film_encoding& how) : shown_{shown}, how_{how} {
    x264_param_t chosen = settings_of(shown, how);
    encoder_.reset(x264_encoder_open(&chosen));
    if (!encoder_)
        throw input_error("x264 cannot encode " + std::to_string(shown.width()) + " × " +
                          std::to_string(shown.height()) + " pixels on " + std::to_string(how.threads) +
                          " threads; ask for fewer threads, or another size");
}

film_stream film_encoder::encode(std::size_t first, std::size_t last) {
    film_stream made;
    for (std::size_t number = first; number < last; ++number) {
        // x264 only reads a picture that it is given.
        auto* luma = const_cast<std::uint8_t*>(shown_.frame(number).data());
        x264_picture_t next;
        x264_picture_init(&next);
        next.i_pts = static_cast<std::int64_t>(number);
        next.img.i_csp = X264_CSP_I420;
        next.img.i_plane = 3;
        next.img.plane[0] = luma;
        next.img.plane[1] = luma + shown_.luma_bytes();
        next.img.plane[2] = luma + shown_.luma_bytes() + shown_.chroma_bytes();
        next.img.i_stride[0] = shown_.width();
        next.img.i_stride[1] = next.img.i_stride[2] = shown_.width() / 2;
        step(made, &next);
    }
    while (x264_encoder_delayed_frames(encoder_.get()) > 0) step(made, nullptr);
    return made;
}

void film_encoder::step(film_stream& made, x264_picture_t* next) {
    x264_nal_t* units = nullptr;
    int count = 0;
    x264_picture_t decoded;
    const int bytes = x264_encoder_encode(encoder_.get(), &units, &count, next, &decoded);
    if (bytes < 0) throw input_error("x264 could not encode a frame; close programs that take memory");
    for (const x264_nal_t& unit : std::span{units, usize(count)})
        if (unit.i_type != NAL_SEI)
            made.bytes.append(reinterpret_cast<const char*>(unit.p_payload), usize(unit.i_payload));
    if (bytes > 0 && how_.is_looked_at)
        made.squared_error += squared_error_of(decoded.img, shown_, static_cast<std::size_t>(decoded.i_pts));
}

int film_encoder::threads() const {
    x264_param_t used;
    x264_encoder_parameters(encoder_.get(), &used);
    return used.i_threads;
}

}  // namespace tauto::runner
