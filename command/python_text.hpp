#pragma once
// Texts in the JSON that Python writes. A byte that is not UTF-8, as names of files may have, is a lone
// surrogate there, \udc80 to \udcff, which the JSON library refuses.

#include <string>
#include <string_view>

namespace tauto::command {

/// JSON that the library reads: each such byte is a private character.
[[nodiscard]] std::string with_bytes_marked(std::string_view json);

/// A text of that JSON, with its bytes.
[[nodiscard]] std::string with_bytes_back(std::string_view text);

}  // namespace tauto::command
