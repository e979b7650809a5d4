// The inner kernels of the N-body study, built once for each instruction set (TAUTO_LANES names the table).
//
// A target's coordinates stand in registers, the sources go by in lanes: lane l of a register of width w sums
// the sources first + l, first + l + w, …, and the w partial sums are added at the end. Targets are taken one
// by one: two or four that share the loads of a source were no faster on a Sapphire Rapids core, neither out
// of the first-level cache (1.08e9 pairs a second with 1024 sources) nor out of the second (1.03e9
// against 1.06e9 with 16384). Contraction is off for this file and every fused operation is written out, or
// the compiler would be free to fuse differently in each copy of the loop, and a force would depend on where
// in it a source is.

#include "kernels/nbody/lanes.hpp"

#include <hwy/highway.h>

#ifndef TAUTO_LANES
#error "TAUTO_LANES must name the instruction set that this file is built for"
#endif

// For the functions below what Highway's own are compiled for, or they could not be inlined (64-bit ARM).
HWY_BEFORE_NAMESPACE();
namespace tauto::kernels::nbody::lanes {

namespace {

namespace hn = hwy::HWY_NAMESPACE;

using doubles = hn::ScalableTag<double>;
using reals = hn::Vec<doubles>;
using mask = hn::Mask<doubles>;
constexpr doubles tag;
constexpr std::size_t width = HWY_LANES(double);

HWY_INLINE reals all(double value) {
    return hn::Set(tag, value);
}
HWY_INLINE reals load(const double* values) {
    return hn::LoadU(tag, values);
}
HWY_INLINE void store(reals v, double* values) {
    hn::StoreU(v, tag, values);
}

// x^(-1/2) of normal numbers.
//
// AVX-512: an estimate y with relative error at most 2^-14, then one step of fourth order: with
// e = 1 - x y^2 (|e| <= 2^-13 + 2^-28), x^(-1/2) = y (1 - e)^(-1/2) = y (1 + e/2 + 3/8 e^2 + 5/16 e^3 + …).
// What is left out is below 35/128 e^4 < 0.28 * 2^-52; the rounding of x y adds 2^-54 and the last operation
// half an ulp. Together below 2 ulp.
// Elsewhere: a root and a division, each rounded once: at most 1.5 ulp. With AVX2 a single-precision estimate
// and one more term of the series were 3 % faster on a Sapphire Rapids core (6.1e8 against 5.9e8 pairs a
// second), but hold only for distances whose squares single precision has. With AVX-512 the estimate
// gives 1.1e9, a root and a division 5.9e8.
HWY_INLINE reals inverse_root(reals x) {
#ifdef __AVX512F__
    const reals y{_mm512_rsqrt14_pd(x.raw)};
    const reals e = hn::NegMulAdd(hn::Mul(x, y), y, all(1.0));
    const reals series = hn::MulAdd(e, hn::MulAdd(e, all(0.3125), all(0.375)), all(0.5));
    return hn::MulAdd(hn::Mul(y, e), series, y);
#else
    return hn::Div(all(1.0), hn::Sqrt(x));
#endif
}

// The terms of one pair: d are the differences source - target of the columns, r the distance.

// phi = -m / r
struct potential_terms {
    static constexpr std::size_t inputs = 3;
    static constexpr std::size_t outputs = 1;

    static HWY_INLINE void add(const reals (&)[inputs], reals mass, reals r_inverse, reals (&sum)[outputs]) {
        sum[0] = hn::NegMulAdd(mass, r_inverse, sum[0]);
    }
};

HWY_INLINE reals dot(const reals* a, const reals* b) {
    return hn::MulAdd(a[2], b[2], hn::MulAdd(a[1], b[1], hn::Mul(a[0], b[0])));
}

// a = m x / r^3, j = m (v - 3 (x v) x / r^2) / r^3: J. Makino, S. J. Aarseth, Publ. Astron. Soc. Japan 44
// (1992) 141, eqs. 1 and 2.
struct jerk_terms {
    static constexpr std::size_t inputs = 6;
    static constexpr std::size_t outputs = 6;

    static HWY_INLINE void add(const reals (&d)[inputs], reals mass, reals r_inverse, reals (&sum)[outputs]) {
        const reals* const x = d;
        const reals* const v = d + 3;
        const reals r_inverse2 = hn::Mul(r_inverse, r_inverse);
        const reals weight = hn::Mul(hn::Mul(mass, r_inverse), r_inverse2);
        const reals approach = hn::Mul(hn::Mul(dot(x, v), all(-3.0)), r_inverse2);
#pragma GCC unroll 3
        for (std::size_t c = 0; c < 3; ++c) sum[c] = hn::MulAdd(weight, x[c], sum[c]);
#pragma GCC unroll 3
        for (std::size_t c = 0; c < 3; ++c)
            sum[3 + c] = hn::MulAdd(weight, hn::MulAdd(approach, x[c], v[c]), sum[3 + c]);
    }
};

// With A = m x / r^3, alpha = (x v) / r^2, beta = (v^2 + x a) / r^2 + alpha^2:
// J = m v / r^3 - 3 alpha A, S = m a / r^3 - 6 alpha J - 3 beta A. K. Nitadori, J. Makino, New Astronomy 13
// (2008) 498, section 2.
struct snap_terms {
    static constexpr std::size_t inputs = 9;
    static constexpr std::size_t outputs = 9;

    static HWY_INLINE void add(const reals (&d)[inputs], reals mass, reals r_inverse, reals (&sum)[outputs]) {
        const reals* const x = d;
        const reals* const v = d + 3;
        const reals* const a = d + 6;
        const reals r_inverse2 = hn::Mul(r_inverse, r_inverse);
        const reals weight = hn::Mul(hn::Mul(mass, r_inverse), r_inverse2);
        const reals alpha = hn::Mul(dot(x, v), r_inverse2);
        const reals beta = hn::MulAdd(hn::Add(dot(v, v), dot(x, a)), r_inverse2, hn::Mul(alpha, alpha));
        const reals alpha3 = hn::Mul(alpha, all(3.0));
        const reals alpha6 = hn::Mul(alpha, all(6.0));
        const reals beta3 = hn::Mul(beta, all(3.0));
#pragma GCC unroll 3
        for (std::size_t c = 0; c < 3; ++c) {
            const reals acceleration = hn::Mul(weight, x[c]);
            const reals jerk = hn::NegMulAdd(alpha3, acceleration, hn::Mul(weight, v[c]));
            const reals snap =
                hn::NegMulAdd(alpha6, jerk, hn::NegMulAdd(beta3, acceleration, hn::Mul(weight, a[c])));
            sum[c] = hn::Add(sum[c], acceleration);
            sum[3 + c] = hn::Add(sum[3 + c], jerk);
            sum[6 + c] = hn::Add(sum[6 + c], snap);
        }
    }
};

template <class Terms>
struct target_sum {
    reals at[Terms::inputs];
    reals sum[Terms::outputs];
    reals softening_squared;

    HWY_INLINE target_sum(const pairs& given, std::size_t target)
        : softening_squared{all(given.softening_squared)} {
#pragma GCC unroll 9
        for (std::size_t c = 0; c < Terms::inputs; ++c) at[c] = all(given.target[c][target]);
#pragma GCC unroll 9
        for (std::size_t c = 0; c < Terms::outputs; ++c) sum[c] = hn::Zero(tag);
    }

    // One register of sources; those that are not `valid` are left out.
    template <class... Mask>
    HWY_INLINE void add(const double* const* source, std::size_t j, Mask... valid) {
        reals d[Terms::inputs];
#pragma GCC unroll 9
        for (std::size_t c = 0; c < Terms::inputs; ++c) d[c] = hn::Sub(load(source[1 + c] + j), at[c]);
        reals mass = load(source[0] + j);
        reals r2 = hn::MulAdd(d[2], d[2], hn::MulAdd(d[1], d[1], hn::MulAdd(d[0], d[0], softening_squared)));
        // A distance that has an inverse, and no mass: exactly nothing is added.
        ((r2 = hn::IfThenElse(valid, r2, all(1.0)), mass = hn::IfThenElseZero(valid, mass)), ...);
        Terms::add(d, mass, inverse_root(r2), sum);
    }

    HWY_INLINE void write(double* const* result, std::size_t target) const {
#pragma GCC unroll 9
        for (std::size_t c = 0; c < Terms::outputs; ++c)
            result[c][target] = hn::GetLane(hn::SumOfLanes(tag, sum[c]));
    }
};

// The lanes from j on that hold a source other than `self`. Doubles count exactly far beyond any index.
HWY_INLINE mask valid_lanes(std::size_t j, std::size_t last, std::size_t self) {
    const reals source = hn::Iota(tag, static_cast<double>(j));
    return hn::And(hn::Lt(source, all(static_cast<double>(last))),
                   hn::Ne(source, all(static_cast<double>(self))));
}

// Two registers need a mask at most, the one with the target itself and the one that reaches beyond the last
// source; the others are computed without any.
template <class Terms>
void sum(const pairs& given) {
    const std::size_t whole_end = given.first + (given.last - given.first) / width * width;
    for (std::size_t target = 0; target < given.count; ++target) {
        const std::size_t self = given.self[target];
        const bool within = self >= given.first && self < whole_end;
        const std::size_t with_self = within ? given.first + (self - given.first) / width * width : whole_end;
        target_sum<Terms> of{given, target};
        std::size_t j = given.first;
        for (; j < with_self; j += width) of.add(given.source, j);
        if (j < given.last) {
            of.add(given.source, j, valid_lanes(j, given.last, self));
            j += width;
        }
        for (; j < whole_end; j += width) of.add(given.source, j);
        if (j < given.last) of.add(given.source, j, valid_lanes(j, given.last, self));
        of.write(given.sum, target);
    }
}

// Columns of the state: kernels/nbody/particles.hpp has the same order.
enum : std::size_t {
    time_of,
    step_of,
    position,
    velocity = 5,
    acceleration = 8,
    jerk = 11,
    snap = 14,
    crackle = 17
};

// Taylor series with the derivatives known at the particle's own time (Makino & Aarseth 1992, eqs. 6 and 7;
// Nitadori & Makino 2008, section 2, whose series ends with the crackle).
void predict4(const double* const* state, double time, std::size_t first, std::size_t last,
              double* const* predicted) {
    for (std::size_t i = first; i < last; i += width) {
        const reals h = hn::Sub(all(time), load(state[time_of] + i));
        const reals h2 = hn::Mul(h, all(1.0 / 2.0));
        const reals h3 = hn::Mul(h, all(1.0 / 3.0));
        for (std::size_t c = 0; c < 3; ++c) {
            const reals x = load(state[position + c] + i), v = load(state[velocity + c] + i);
            const reals a = load(state[acceleration + c] + i), j = load(state[jerk + c] + i);
            store(hn::MulAdd(h, hn::MulAdd(h2, hn::MulAdd(h3, j, a), v), x), predicted[c] + i);
            store(hn::MulAdd(h, hn::MulAdd(h2, j, a), v), predicted[3 + c] + i);
        }
    }
}

void predict6(const double* const* state, double time, std::size_t first, std::size_t last,
              double* const* predicted) {
    for (std::size_t i = first; i < last; i += width) {
        const reals h = hn::Sub(all(time), load(state[time_of] + i));
        const reals h2 = hn::Mul(h, all(1.0 / 2.0));
        const reals h3 = hn::Mul(h, all(1.0 / 3.0));
        const reals h4 = hn::Mul(h, all(1.0 / 4.0));
        const reals h5 = hn::Mul(h, all(1.0 / 5.0));
        for (std::size_t c = 0; c < 3; ++c) {
            const reals x = load(state[position + c] + i), v = load(state[velocity + c] + i);
            const reals a = load(state[acceleration + c] + i), j = load(state[jerk + c] + i);
            const reals s = load(state[snap + c] + i), k = load(state[crackle + c] + i);
            const reals x3 = hn::MulAdd(h4, hn::MulAdd(h5, k, s), j);
            store(hn::MulAdd(h, hn::MulAdd(h2, hn::MulAdd(h3, x3, a), v), x), predicted[c] + i);
            const reals v2 = hn::MulAdd(h3, hn::MulAdd(h4, k, s), j);
            store(hn::MulAdd(h, hn::MulAdd(h2, v2, a), v), predicted[3 + c] + i);
            store(hn::MulAdd(h, hn::MulAdd(h2, hn::MulAdd(h3, k, s), j), a), predicted[6 + c] + i);
        }
    }
}

HWY_INLINE reals norm2(const reals (&a)[3]) {
    return dot(a, a);
}

// (|a| |c| + |b|^2) from the squares of the lengths.
HWY_INLINE reals mixed(reals a2, reals b2, reals c2) {
    return hn::Add(hn::Sqrt(hn::Mul(a2, c2)), b2);
}

// The largest power of two whose cube is not above x; a third of the exponent, rounded down. 2^341 for what
// is not a number.
HWY_INLINE reals rounded_cube_root(reals x) {
    alignas(64) double lanes[width];
    hn::Store(x, tag, lanes);
    for (double& lane : lanes) {
        const auto exponent = (__builtin_bit_cast(unsigned long, lane) >> 52U) + 2046U;
        lane = __builtin_bit_cast(double, exponent / 3U << 52U);
    }
    return hn::Load(tag, lanes);
}

// The next step after one of `step` that ended at `time`, where `wanted` is what the criterion allows:
// powers of two; shorter at once, twice as long at most, and that only where the time is a multiple of it
// (S. J. Aarseth, Gravitational N-Body Simulations, Cambridge 2003, section 2.6).
HWY_INLINE reals next_step(reals wanted, reals step, reals time, double largest) {
    // 0/0 in the criterion: no force, so any step will do.
    wanted = hn::IfThenElse(hn::Eq(wanted, wanted), hn::Min(wanted, all(largest)), all(largest));
    const hn::RebindToUnsigned<doubles> bits;
    const reals rounded_down =
        hn::BitCast(tag, hn::And(hn::BitCast(bits, wanted), hn::Set(bits, 0x7ff0000000000000U)));
    const reals twice = hn::Add(step, step);
    const reals periods = hn::Div(time, twice);
    const mask may_double = hn::And(hn::Ge(rounded_down, twice), hn::Eq(hn::Floor(periods), periods));
    const reals longer = hn::IfThenElse(may_double, twice, step);
    return hn::IfThenElse(hn::Lt(rounded_down, step), rounded_down, longer);
}

// Makino & Aarseth 1992: the interpolation through both ends of the step; its time-symmetric corrector; the
// Aarseth criterion h^2 = accuracy^2 (|a| |a2| + |j|^2) / (|j| |a3| + |a2|^2) at the step's end.
double correct4(double* const* state, const double* const* force, double time, const step_rule& rule,
                std::size_t count) {
    reals not_finite = hn::Zero(tag);
    for (std::size_t i = 0; i < count; i += width) {
        const reals h = hn::Sub(all(time), load(state[time_of] + i));
        const reals half = hn::Mul(h, all(0.5));
        const reals twelfth = hn::Mul(hn::Mul(h, h), all(1.0 / 12.0));
        const reals per_h = hn::Div(all(1.0), h);
        const reals per_h2 = hn::Mul(per_h, per_h);
        reals a[3], j[3], a2[3], a3[3];
        for (std::size_t c = 0; c < 3; ++c) {
            const reals x0 = load(state[position + c] + i), v0 = load(state[velocity + c] + i);
            const reals a0 = load(state[acceleration + c] + i), j0 = load(state[jerk + c] + i);
            const reals a1 = a[c] = load(force[c] + i);
            const reals j1 = j[c] = load(force[3 + c] + i);
            const reals v1 = hn::MulAdd(half, hn::Add(a0, a1), hn::MulAdd(twelfth, hn::Sub(j0, j1), v0));
            const reals x1 = hn::MulAdd(half, hn::Add(v0, v1), hn::MulAdd(twelfth, hn::Sub(a0, a1), x0));
            // At the end of the step: a2 h^2 = 6 (a0 - a1) + h (2 j0 + 4 j1), a3 h^3 as at its start.
            const reals difference = hn::Mul(hn::Sub(a0, a1), all(6.0));
            const reals j_sum = hn::Add(j0, j1);
            a2[c] = hn::Mul(per_h2, hn::MulAdd(hn::Add(h, h), hn::Add(j_sum, j1), difference));
            a3[c] = hn::Mul(hn::Mul(per_h2, per_h),
                            hn::MulAdd(hn::Mul(h, all(6.0)), j_sum, hn::Add(difference, difference)));
            not_finite = hn::Add(not_finite, hn::Add(hn::Sub(a1, a1), hn::Sub(j1, j1)));
            store(x1, state[position + c] + i);
            store(v1, state[velocity + c] + i);
            store(a1, state[acceleration + c] + i);
            store(j1, state[jerk + c] + i);
        }
        const reals j_squared = norm2(j), a2_squared = norm2(a2);
        const reals criterion =
            hn::Div(mixed(norm2(a), j_squared, a2_squared), mixed(j_squared, a2_squared, norm2(a3)));
        const reals wanted = hn::Mul(all(rule.accuracy), hn::Sqrt(criterion));
        const reals step = load(state[step_of] + i);
        store(next_step(wanted, step, all(time), rule.largest), state[step_of] + i);
        store(all(time), state[time_of] + i);
    }
    return hn::GetLane(hn::SumOfLanes(tag, not_finite));
}

// Nitadori & Makino 2008, section 2. With the step's middle as origin and half of it as unit the acceleration
// is the sum of c_k tau^k, k = 0…5; both ends give c_2…c_5, and those a3, a4, a5 at the end. The criterion is
// their generalised one: h = accuracy (A(1) / A(4))^(1/3), A(k)^2 = |a^(k-1)| |a^(k+1)| + |a^(k)|^2.
double correct6(double* const* state, const double* const* force, double time, const step_rule& rule,
                std::size_t count) {
    reals not_finite = hn::Zero(tag);
    for (std::size_t i = 0; i < count; i += width) {
        const reals h = hn::Sub(all(time), load(state[time_of] + i));
        const reals half = hn::Mul(h, all(0.5));
        const reals half2 = hn::Mul(half, half);
        const reals tenth = hn::Mul(hn::Mul(h, h), all(1.0 / 10.0));
        const reals last = hn::Mul(hn::Mul(hn::Mul(h, h), h), all(1.0 / 120.0));
        const reals per_half = hn::Div(all(1.0), half);
        const reals per_half3 = hn::Mul(hn::Mul(per_half, per_half), per_half);
        const reals per_half4 = hn::Mul(per_half3, per_half);
        reals a[3], j[3], s[3], a3[3], a4[3], a5[3];
        for (std::size_t c = 0; c < 3; ++c) {
            const reals x0 = load(state[position + c] + i), v0 = load(state[velocity + c] + i);
            const reals a0 = load(state[acceleration + c] + i), j0 = load(state[jerk + c] + i);
            const reals s0 = load(state[snap + c] + i);
            const reals a1 = a[c] = load(force[c] + i);
            const reals j1 = j[c] = load(force[3 + c] + i);
            const reals s1 = s[c] = load(force[6 + c] + i);
            const reals v1 =
                hn::MulAdd(half, hn::Add(a0, a1),
                           hn::MulAdd(tenth, hn::Sub(j0, j1), hn::MulAdd(last, hn::Add(s0, s1), v0)));
            const reals x1 =
                hn::MulAdd(half, hn::Add(v0, v1),
                           hn::MulAdd(tenth, hn::Sub(a0, a1), hn::MulAdd(last, hn::Add(j0, j1), x0)));
            const reals a_minus = hn::Sub(a1, a0);
            const reals j_minus = hn::Mul(half, hn::Sub(j1, j0)), j_plus = hn::Mul(half, hn::Add(j1, j0));
            const reals s_minus = hn::Mul(half2, hn::Sub(s1, s0)), s_plus = hn::Mul(half2, hn::Add(s1, s0));
            const reals across = hn::Sub(j_plus, a_minus);
            const reals c3 = hn::Mul(hn::MulSub(all(5.0), across, s_minus), all(1.0 / 8.0));
            const reals c4 = hn::Mul(hn::Sub(s_plus, j_minus), all(1.0 / 16.0));
            const reals c5 = hn::Mul(hn::NegMulAdd(all(3.0), across, s_minus), all(1.0 / 16.0));
            a3[c] = hn::Mul(per_half3,
                            hn::MulAdd(all(60.0), c5, hn::MulAdd(all(24.0), c4, hn::Mul(all(6.0), c3))));
            a4[c] = hn::Mul(per_half4, hn::MulAdd(all(120.0), c5, hn::Mul(all(24.0), c4)));
            a5[c] = hn::Mul(hn::Mul(per_half4, per_half), hn::Mul(all(120.0), c5));
            not_finite =
                hn::Add(not_finite, hn::Add(hn::Add(hn::Sub(a1, a1), hn::Sub(j1, j1)), hn::Sub(s1, s1)));
            store(x1, state[position + c] + i);
            store(v1, state[velocity + c] + i);
            store(a1, state[acceleration + c] + i);
            store(j1, state[jerk + c] + i);
            store(s1, state[snap + c] + i);
            store(a3[c], state[crackle + c] + i);
        }
        const reals ratio =
            hn::Sqrt(hn::Div(mixed(norm2(a), norm2(j), norm2(s)), mixed(norm2(a3), norm2(a4), norm2(a5))));
        const double cubed = rule.accuracy * rule.accuracy * rule.accuracy;
        const reals wanted = rounded_cube_root(hn::Mul(all(cubed), ratio));
        const reals step = load(state[step_of] + i);
        store(next_step(wanted, step, all(time), rule.largest), state[step_of] + i);
        store(all(time), state[time_of] + i);
    }
    return hn::GetLane(hn::SumOfLanes(tag, not_finite));
}

double next_time(const double* time, const double* step, std::size_t count) {
    reals least = all(time[0] + step[0]);
    std::size_t i = 0;
    for (; i + width <= count; i += width) least = hn::Min(least, hn::Add(load(time + i), load(step + i)));
    double result = hn::GetLane(hn::MinOfLanes(tag, least));
    for (; i < count; ++i) result = time[i] + step[i] < result ? time[i] + step[i] : result;
    return result;
}

// Without a branch for what is found: whether a register has a particle that is due is as good as random, and
// a branch that is guessed wrong costs more than eight of these steps.
std::size_t due(const double* time, const double* step, std::size_t count, double next,
                std::size_t* indices) {
    const hn::RebindToUnsigned<doubles> whole;
    std::size_t found = 0;
    std::size_t i = 0;
    for (; i + width <= count; i += width) {
        const mask is_due = hn::Eq(hn::Add(load(time + i), load(step + i)), all(next));
        auto* const to = reinterpret_cast<hn::TFromD<decltype(whole)>*>(indices + found);
        found += hn::CompressStore(hn::Iota(whole, i), hn::RebindMask(whole, is_due), whole, to);
    }
    for (; i < count; ++i) {
        indices[found] = i;
        found += time[i] + step[i] == next ? 1 : 0;
    }
    return found;
}

void inverse_roots(const double* x, double* y, std::size_t count) {
    alignas(64) double rest[width];
    for (std::size_t i = 0; i < count; i += width) {
        const std::size_t lanes = count - i < width ? count - i : width;
        for (std::size_t lane = 0; lane < width; ++lane) rest[lane] = lane < lanes ? x[i + lane] : 1.0;
        hn::Store(inverse_root(hn::Load(tag, rest)), tag, rest);
        for (std::size_t lane = 0; lane < lanes; ++lane) y[i + lane] = rest[lane];
    }
}

}  // namespace

const table TAUTO_LANES = {sum<jerk_terms>, sum<snap_terms>, sum<potential_terms>,
                           predict4,        predict6,        correct4,
                           correct6,        next_time,       due,
                           inverse_roots};

}  // namespace tauto::kernels::nbody::lanes
HWY_AFTER_NAMESPACE();
