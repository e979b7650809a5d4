#pragma once
// Which kernels the loop study runs.

namespace tauto {

/// tuned: many sums at a time, in the widest registers. published: one chain of scalar additions a row, as in
/// the published program of the study of hybrid CPUs.
enum class kernel { tuned, published };

}  // namespace tauto
