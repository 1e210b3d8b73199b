// cli/partest/sizes: sizes as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sheaf::partest {

// Bytes: an integer with k, K, Ki, Kib, KiB (1024) or kb, kB, Kb, KB (1000) behind it, or with M, G, T in the
// place of K. Nothing if that is not what `text` is, or if it exceeds 63 bits.
std::optional<int64_t> parse_size(std::string_view text);

// "10.0 MiB", "512 bytes".
std::string sized(int64_t bytes);

}  // namespace sheaf::partest
