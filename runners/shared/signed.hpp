#pragma once
// Signed counts and positions for containers, as the runtime has them.

#include <tauto/signed.hpp>

namespace tauto::runner {

using tauto::detail::as_double;
using tauto::detail::at;
using tauto::detail::int_size;
using tauto::detail::usize;

}  // namespace tauto::runner
