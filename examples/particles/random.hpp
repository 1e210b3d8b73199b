// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC11).
//
// There is no generator state. A draw is a pure function of (seed, purpose, step, index), so any task can
// compute the numbers of any cell at any step. A restarted run computes the same numbers as an uninterrupted
// run.
#pragma once

#include <array>
#include <cstdint>

namespace particles {

// Uses of random numbers. Each use has its own stream.
enum class Purpose : std::uint32_t {
  grid_shift = 1,
  rotation_axis = 2,
  position = 3,
  velocity = 4,
  more_velocity = 5
};

using Draw = std::array<std::uint32_t, 4>;

inline Draw philox(std::uint64_t seed, Purpose purpose, std::uint32_t step, std::uint64_t index) {
  Draw c{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), step,
         static_cast<std::uint32_t>(purpose)};
  auto k0 = static_cast<std::uint32_t>(seed);
  auto k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = 0xD2511F53ull * c[0];
    const std::uint64_t b = 0xCD9E8D57ull * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(a)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// Returns a uniform number in [0, 1), a multiple of 2^-32.
inline double unit(std::uint32_t bits) { return bits * 0x1p-32; }

}  // namespace particles
