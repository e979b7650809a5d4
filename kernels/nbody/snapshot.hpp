#pragma once
// Snapshots as text: a header, then one particle a line. Lines that start with # are remarks.
//
//   tautochrone-snapshot 1
//   particles 2
//   time 0
//   0.5  0.75 0 0  0 0.25 0        mass, position, velocity
//   0.5 -0.75 0 0  0 -0.25 0

#include <iosfwd>
#include <string>

#include "kernels/nbody/particles.hpp"

namespace tauto::kernels::nbody {

struct snapshot {
    particles bodies;
    double time = 0.0;
};

/// `name` stands in messages. Throws error that names the line and says what to do: no such header, fewer
/// particles than the header says, a line without seven numbers, a number that is not finite.
snapshot read_snapshot(std::istream& stream, const std::string& name);
snapshot read_snapshot(const std::string& file);

/// Digits enough to read back the same bits.
void write_snapshot(std::ostream& stream, const particles& bodies, double time);

}  // namespace tauto::kernels::nbody
