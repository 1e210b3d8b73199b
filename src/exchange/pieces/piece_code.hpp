// exchange/pieces/piece_code: lists of pieces as short messages. Numbers of variable length; equal pieces at
// equal distances once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exchange/pieces/access.hpp"

namespace sheaf::exchange {

// The pieces of bytes [from, to) of the stream.
std::vector<std::byte> encode_pieces(const Access& access, int64_t from, int64_t to);

// The type map of such pieces; displacement 0 is the beginning of the file. Throws damaged if the code makes
// no sense.
layout::TypeMap decode_pieces(std::span<const std::byte> code);

}  // namespace sheaf::exchange
